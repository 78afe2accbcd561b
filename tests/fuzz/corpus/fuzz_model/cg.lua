-- Conjugate gradients on an N x N grid with a 5-point stencil, matrix-free, cut into P blocks. Memory
-- limits each part: per point v = A p moves 3 words, the two dot products 2 and 1, the three vector
-- updates 3 each (loads and stores of 8 bytes; lines that are read because they are written to are
-- counted, as in G. Hager's talk "Making Sense of Performance Numbers", whose CG solver this is).

local word = 8

local function sweep(p, words)
  return compute{bytes = words * word * p.N^2 / p.P, bandwidth = p.memory}
end

return {
  title = "conjugate gradients on a grid",
  processes = "P",
  iterations = "iterations",
  network = {latency = "T_l", bandwidth = "B"},
  work = function(p) return p.N^2 end,
  parameters = {
    {name = "P", unit = "1", default = 16, run = "processes", about = "processes"},
    {name = "N", unit = "1", default = 4000, about = "points along an edge of the grid"},
    {name = "iterations", unit = "1", default = 100, about = "of the solver"},
    {name = "memory", unit = "B/s", default = 5e9, fit = true, machine = "memory.triad",
     about = "memory bandwidth of a process, all working"},
    {name = "T_l", unit = "s", default = 2e-6, machine = "network.latency",
     about = "time of a message without content"},
    {name = "B", unit = "B/s", default = 10e9, machine = "network.bandwidth",
     about = "bandwidth of messages"},
    {name = "allreduce", choices = {"recursive-doubling", "binomial"},
     about = "algorithm of the reductions"},
  },
  terms = {
    {name = "halo", regions = {"halo"}, time = function(p)
      local g = grid(p.P, 2)
      return halo{grid = g, bytes = {word * p.N / g[2], word * p.N / g[1]}}
    end},
    {name = "matrix", regions = {"matrix"}, time = function(p) return sweep(p, 3) end},
    {name = "dot products", regions = {"dot"}, time = function(p) return sweep(p, 2 + 1) end},
    {name = "reductions", regions = {"reduction"}, time = function(p)
      return allreduce{bytes = word, algorithm = p.allreduce, count = 2}
    end},
    {name = "vector updates", regions = {"update"}, time = function(p) return sweep(p, 3 * 3) end},
  },
}
