-- Conjugate gradients for a Poisson problem on a grid of Nx x Ny points, matrix-free with five
-- points, every kernel a parallel loop of its own, in double precision. The program is
-- examples/cg.c.
--
-- In-core cycles per line of results (8 points) are those of an Intel Haswell core with AVX2, as in
-- G. Hager, Making Sense of Performance Numbers (2018); set them for another core.

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

local axpy = {T_OL = 2, T_nOL = parameter("axpy_T_nOL", 2), lines = stream(2, 1)}

local function update(name)
    return {name = name, T_OL = axpy.T_OL, T_nOL = axpy.T_nOL, lines = axpy.lines, flops = 2,
            regions = 1}
end

return {
    title = "Conjugate gradients, five points, matrix-free",
    points = Nx * Ny,
    bytes = 4 * 8 * Nx * Ny,
    kernels = {
        {name = "v = A p", T_OL = parameter("stencil_T_OL", 8),
         T_nOL = parameter("stencil_T_nOL", 4), lines = five_points(), flops = 6, regions = 1},
        {name = "lambda = alpha0 / <v, p>", T_OL = 2, T_nOL = parameter("dot_T_nOL", 2),
         lines = stream(2, 0), flops = 2, regions = 1},
        update("x = x + lambda p"),
        update("r = r - lambda v"),
        {name = "alpha1 = <r, r>", T_OL = 2, T_nOL = parameter("norm_T_nOL", 2),
         lines = stream(1, 0), flops = 2, regions = 1},
        update("p = r + (alpha1 / alpha0) p"),
    },
}
