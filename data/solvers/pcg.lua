-- Conjugate gradients as in cg.lua with a symmetric Gauss-Seidel preconditioner, a forward and a
-- backward sweep whose rows the cores work on as a pipeline, with a barrier after every row. The
-- program is examples/pcg.c.
--
-- In-core cycles per line of results (8 points) are those of an Intel Haswell core with AVX2, as in
-- G. Hager, Making Sense of Performance Numbers (2018); set them for another core. In a sweep each
-- point waits for the one before it, for a fused multiply-add.

local Nx = parameter("Nx", 40000)
local Ny = parameter("Ny", 1000)

-- Lines read and written per line of results, between each level and the next.
local function stream(reads, writes)
    local lines = {}
    for level = 1, levels do
        lines[level] = {reads, writes}
    end
    return lines
end

-- v = A p reads each point of p once where the cache holds three rows of p and one of v, else
-- three times; v itself is read because it is written to.
local function five_points()
    local lines = {}
    for level = 1, levels do
        local rows_fit = 4 * Nx * 8 <= cache(level)
        lines[level] = {(rows_fit and 1 or 3) + 1, 1}
    end
    return lines
end

-- A sweep reads the right-hand side, the row before of its result where the cache does not hold it
-- together with the two current rows, and the row that it writes.
local function sweep_lines()
    local lines = {}
    for level = 1, levels do
        local rows_fit = 3 * Nx * 8 <= cache(level)
        lines[level] = {(rows_fit and 1 or 2) + 1, 1}
    end
    return lines
end

local T_nOL = parameter("axpy_T_nOL", 2)
local fma = parameter("fma_latency", 5)

local function update(name)
    return {name = name, T_OL = 2, T_nOL = T_nOL, lines = stream(2, 1), flops = 2, regions = 1}
end

local function sweep(name)
    return {name = name, T_OL = 8 * fma, T_nOL = parameter(name .. "_T_nOL", 12),
            lines = sweep_lines(), flops = 4, regions = 0.5, wavefronts = Ny}
end

return {
    title = "Conjugate gradients, preconditioned with Gauss-Seidel",
    points = Nx * Ny,
    bytes = 6 * 8 * Nx * Ny,
    kernels = {
        {name = "v = A p", T_OL = parameter("stencil_T_OL", 8),
         T_nOL = parameter("stencil_T_nOL", 4), lines = five_points(), flops = 6, regions = 1},
        {name = "lambda = alpha0 / <v, p>", T_OL = 2, T_nOL = parameter("dot_T_nOL", 2),
         lines = stream(2, 0), flops = 2, regions = 1},
        update("x = x + lambda p"),
        update("r = r - lambda v"),
        sweep("forward"),
        sweep("backward"),
        {name = "alpha1 = <r, z>", T_OL = 2, T_nOL = parameter("norm_T_nOL", 2),
         lines = stream(2, 0), flops = 2, regions = 1},
        update("p = z + (alpha1 / alpha0) p"),
    },
}
