-- Conjugate gradients as in cg.lua with a symmetric Gauss-Seidel preconditioner, a forward and a
-- backward sweep whose rows the cores work on as a pipeline, with a barrier after every row. The
-- program is examples/pcg.c.
--
-- In-core cycles per line of results (8 points) are those of an Intel Haswell core with AVX2, as in
-- G. Hager, Making Sense of Performance Numbers (2018); set them for another core. In a sweep each
-- point waits for the one before it, for a fused multiply-add; sum_T_OL is as in cg.lua.

local Nx = parameter("Nx", 40000)
local Ny = parameter("Ny", 1000)
local T_nOL = parameter("axpy_T_nOL", 2)
local sum_T_OL = parameter("sum_T_OL", 2)
local dot_T_nOL = parameter("dot_T_nOL", 2)
local fma = parameter("fma_latency", 5)

local function update(name, reads, result)
    return {name = name, T_OL = 2, T_nOL = T_nOL, reads = reads, writes = {result}, flops = 2,
            regions = 1}
end

local function dot(name, reads)
    return {name = name, T_OL = sum_T_OL, T_nOL = dot_T_nOL, reads = reads, flops = 2, regions = 1}
end

-- The row before of the result is read again where the cache does not hold it together with the two
-- current rows.
local function sweep(name, source, result)
    return {name = name, T_OL = 8 * fma, T_nOL = parameter(name .. "_T_nOL", 12),
            reads = {source}, writes = {result}, layers = {[result] = {2, 3 * 8 * Nx}},
            backward = name == "backward", flops = 4, regions = 0.5, wavefronts = Ny}
end

return {
    title = "Conjugate gradients, preconditioned with Gauss-Seidel",
    points = Nx * Ny,
    kernels = {
        {name = "v = A p", T_OL = parameter("stencil_T_OL", 8),
         T_nOL = parameter("stencil_T_nOL", 4), reads = {"p"}, writes = {"v"},
         layers = {p = {3, 4 * 8 * Nx}}, flops = 6, regions = 1},
        dot("lambda = alpha0 / <v, p>", {"v", "p"}),
        update("x = x + lambda p", {"p", "x"}, "x"),
        update("r = r - lambda v", {"v", "r"}, "r"),
        sweep("forward", "r", "w"),
        sweep("backward", "w", "z"),
        dot("alpha1 = <r, z>", {"r", "z"}),
        update("p = z + (alpha1 / alpha0) p", {"z", "p"}, "p"),
    },
}
