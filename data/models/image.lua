-- Image reconstruction by relaxation on L x L pixels, on a torus, cut into strips (1-D) or blocks
-- (2-D); examples/image.c is the program. Times and structure as in D. Henty's talk "Performance
-- Modelling" (EPCC): 5 operations for a new pixel, halo swaps with each neighbour in turn, and every
-- D iterations 3 operations a pixel and a reduction by a tree.
--
-- f must be the program's own rate, which memory limits, and not LINPACK's: --calibrate finds it, and
-- what the operations of a change cost, which stream through other amounts of memory.

local function grid_of(p)
  return p.decomposition == "1-D" and grid(p.P, 1) or grid(p.P, 2)
end

return {
  title = "image reconstruction",
  processes = "P",
  iterations = "iterations",
  network = {latency = "T_l", bandwidth = "B"},
  cores = "cores",
  parameters = {
    {name = "P", unit = "1", default = 4, run = "processes", about = "processes"},
    {name = "decomposition", choices = {"1-D", "2-D"}, about = "how the image is cut"},
    {name = "L", unit = "1", default = 1000, about = "pixels along an edge of the image"},
    {name = "iterations", unit = "1", default = 100, about = "updates of the image"},
    {name = "cores", unit = "1", default = 0, run = "cores",
     about = "cores of all processes together; 0: each has its own"},
    {name = "D", unit = "1", default = 100, about = "iterations between two looks at the change"},
    {name = "f", unit = "flop/s", default = 100e6, fit = true, about = "rate of a process"},
    {name = "delta_flops", unit = "1", default = 3, fit = true,
     about = "operations of a pixel's change; what they cost in those of the update"},
    {name = "T_l", unit = "s", default = 5e-6, machine = "network.latency",
     about = "time of a message without content"},
    {name = "B", unit = "B/s", default = 400e6, machine = "network.bandwidth",
     about = "bandwidth of messages"},
  },
  terms = {
    {name = "halo", regions = {"halo"}, time = function(p)
      local g = grid_of(p)
      local bytes = {8 * p.L}
      if g[2] then bytes = {8 * p.L / g[2], 8 * p.L / g[1]} end
      return halo{grid = g, bytes = bytes, periodic = true}
    end},
    {name = "update", regions = {"update"}, time = function(p)
      return compute{flops = 5 * p.L^2 / p.P, rate = p.f}
    end},
    {name = "delta", every = "D", regions = {"delta"}, time = function(p)
      return compute{flops = p.delta_flops * p.L^2 / p.P, rate = p.f}
    end},
    {name = "reduction", every = "D", regions = {"reduction"}, time = function(p)
      return allreduce{bytes = 0, algorithm = "binomial"}
    end},
  },
}
