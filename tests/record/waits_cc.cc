// C++'s threads are pthreads underneath. As waits.c.
#include <cstdio>
#include <lull/lull.h>
#include <string>
#include <thread>
#include <vector>

static void body(long number)
{
    lull_begin(("body " + std::to_string(number)).c_str());
    lull_end("");
}

int main()
{
    long number = 0;
    for (int round = 0; round < 20; round++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back(body, number + i);
        for (auto &thread : threads) {
            lull_begin(("join " + std::to_string(number++)).c_str());
            thread.join();
            lull_end("");
        }
    }
    std::printf("waits %ld joined\n", number);
    return 0;
}
