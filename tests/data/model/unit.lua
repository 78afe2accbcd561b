return {
  title = "a parameter without unit",
  processes = "P",
  parameters = {{name = "P", unit = "1", default = 2}, {name = "L", default = 3}},
  terms = {{name = "t", time = function(p) return p.L end}},
}
