-- Schoenauer's triad on 8 cores of a published machine, which share its memory, and on one. By hand, for
-- 10 million iterations: together 8 x 40 B an iteration over 38.41 GB/s, 83.3 ms; alone the published 48.5
-- cycles for 8 iterations at 2.7 GHz, 22.45 ms, twice; small, in the first cache, 100 times 6 cycles, 222 ns.
return {
  title = "triad",
  processes = "P",
  parameters = {
    {name = "P", unit = "1", default = 8},
    {name = "L", unit = "1", default = 80e6, about = "elements of all processes"},
  },
  terms = {
    {name = "together", time = function(p)
      return compute{kernel = "../../../examples/kernels/triad.c", sizes = {N = p.L / p.P}, in_core = {4, 6}}
    end},
    {name = "alone", time = function(p)
      return compute{kernel = "../../../examples/kernels/triad.c", sizes = {N = p.L / p.P}, in_core = {4, 6},
                     cores = 1, count = 2}
    end},
    {name = "small", time = function(p)
      return compute{kernel = "../../../examples/kernels/triad.c", sizes = {N = 800}, in_core = {4, 6}, cores = 1}
    end},
  },
}
