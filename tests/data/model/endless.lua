-- A term that never ends.
return {
  title = "endless",
  processes = "P",
  parameters = {{name = "P", unit = "1", default = 2}},
  terms = {{name = "loop", time = function(p)
    while true do p.P = p.P end
  end}},
}
