return {title = "t", processes = "P", parameters = {{name = "P", unit = "1", default = 2}}, terms = {{name = "a", time = function(p)
  return compute{kernel = "../../../examples/kernels/triad.c", sizes = {N = 10, M = p.P}}
end}}}
