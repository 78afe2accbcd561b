# ./heat is a short run here.
program 10 100
mv heat heat_itself
printf '#!/bin/sh\nexec ./heat_itself 10 100\n' >heat
chmod +x heat
