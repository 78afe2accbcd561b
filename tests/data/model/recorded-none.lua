return {title = "t", processes = "P", parameters = {{name = "P", unit = "1", default = 2}}, terms = {{name = "a", time = function(p)
  return compute{region = "solve", run = "../golden/replay2.prv"}
end}}}
