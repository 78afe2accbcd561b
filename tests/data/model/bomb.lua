local s = "boom"
while true do
  s = s .. s
end
