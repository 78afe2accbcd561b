return {title = "t", processes = "P", parameters = {{name = "P", unit = "1", default = 2}}, terms = {{name = "a", time = function(p)
  return compute{kernel = "../kernel/branch.c", sizes = {N = 1000}}
end}}}
