-- Conjugate gradients for a Poisson problem on a grid of Nx x Ny points, matrix-free with five
-- points, every kernel a parallel loop of its own, in double precision. The program is
-- examples/cg.c.
--
-- In-core cycles per line of results (8 points) are those of an Intel Haswell core with AVX2, as in
-- G. Hager, Making Sense of Performance Numbers (2018); set them for another core.
-- A sum in one register waits for its chain: sum_T_OL is what `lull model kernel` says of it.

local Nx = parameter("Nx", 40000)
local Ny = parameter("Ny", 1000)
local T_nOL = parameter("axpy_T_nOL", 2)
local sum_T_OL = parameter("sum_T_OL", 2)

local function update(name, reads, result)
    return {name = name, T_OL = 2, T_nOL = T_nOL, reads = reads, writes = {result}, flops = 2,
            regions = 1}
end

return {
    title = "Conjugate gradients, five points, matrix-free",
    points = Nx * Ny,
    kernels = {
        -- Each point of p is read once where the cache holds three rows of p and one of v, else
        -- three times.
        {name = "v = A p", T_OL = parameter("stencil_T_OL", 8),
         T_nOL = parameter("stencil_T_nOL", 4), reads = {"p"}, writes = {"v"},
         layers = {p = {3, 4 * 8 * Nx}}, flops = 6, regions = 1},
        {name = "lambda = alpha0 / <v, p>", T_OL = sum_T_OL, T_nOL = parameter("dot_T_nOL", 2),
         reads = {"v", "p"}, flops = 2, regions = 1},
        update("x = x + lambda p", {"p", "x"}, "x"),
        update("r = r - lambda v", {"v", "r"}, "r"),
        {name = "alpha1 = <r, r>", T_OL = sum_T_OL, T_nOL = parameter("norm_T_nOL", 2),
         reads = {"r"}, flops = 2, regions = 1},
        update("p = r + (alpha1 / alpha0) p", {"r", "p"}, "p"),
    },
}
