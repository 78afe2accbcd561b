return {
  title = "x"
  terms = {},
}
