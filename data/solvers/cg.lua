-- Conjugate gradients for a Poisson problem on a grid of Nx x Ny points, matrix-free with five
-- points, every kernel a parallel loop of its own, in double precision. The program is
-- examples/cg.c.
--
-- In-core cycles per line of results (8 points) are those of an Intel Haswell core with AVX2, as in
-- G. Hager, Making Sense of Performance Numbers (2018); set them for another core.

local Nx = parameter("Nx", 40000)
local Ny = parameter("Ny", 1000)
local array = 8 * Nx * Ny

-- The share of an array that a level no longer holds. So many arrays' worth of other elements were
-- touched since each of its elements was used last, `most` at one of its ends and `least` at the
-- other: a layer condition between kernels. All points are those of one core.
local function gone(level, least, most)
    local held = cache(level) / array
    if most <= held then
        return 0
    end
    return least >= held and 1 or (most - held) / (most - least)
end

-- Lines read and written per line of results, between each level and the next: each array that is
-- read as {least, most}, and the longest way of the one that is written until its next use.
local function lines_of(reads, write)
    local lines = {}
    for level = 1, levels do
        local read = 0
        for _, since in ipairs(reads) do
            -- The stencil reads each point of p once where the cache holds three rows of p and one
            -- of v, else three times.
            local rows_fit = 4 * Nx * 8 <= cache(level)
            read = read + gone(level, since[1], since[2]) * (since.rows and not rows_fit and 3 or 1)
        end
        lines[level] = {read, write and gone(level, write[1], write[2]) or 0}
    end
    return lines
end

local T_nOL = parameter("axpy_T_nOL", 2)

local function update(name, reads, write)
    return {name = name, T_OL = 2, T_nOL = T_nOL,
            lines = lines_of(reads, write), flops = 2, regions = 1}
end

-- Since the update of p, p and r were touched, and v is on the way: p was used two arrays ago. v,
-- which is read because it is written to, was used before r and p; and so on.
return {
    title = "Conjugate gradients, five points, matrix-free",
    points = Nx * Ny,
    bytes = 4 * array,
    kernels = {
        {name = "v = A p", T_OL = parameter("stencil_T_OL", 8),
         T_nOL = parameter("stencil_T_nOL", 4),
         lines = lines_of({{2, 2, rows = true}, {3, 3}}, {3, 4}), flops = 6, regions = 1},
        {name = "lambda = alpha0 / <v, p>", T_OL = 2, T_nOL = parameter("dot_T_nOL", 2),
         lines = lines_of({{2, 2}, {2, 2}}), flops = 2, regions = 1},
        update("x = x + lambda p", {{4, 4}, {2, 2}}, {4, 4}),
        update("r = r - lambda v", {{4, 4}, {3, 4}}, {4, 4}),
        {name = "alpha1 = <r, r>", T_OL = 2, T_nOL = parameter("norm_T_nOL", 2),
         lines = lines_of({{1, 2}}), flops = 2, regions = 1},
        update("p = r + (alpha1 / alpha0) p", {{1, 2}, {3, 4}}, {3, 4}),
    },
}
