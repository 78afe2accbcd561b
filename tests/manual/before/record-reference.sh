program 10 100
