-- Schoenauer's triad on 8 cores of a published machine, which share its memory, and on one.
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
