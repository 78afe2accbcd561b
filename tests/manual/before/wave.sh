lull simulate -p chain:ranks=16,exec=1ms,iterations=30 --delay 5@i5:8ms --no-path -o run.lull >told
