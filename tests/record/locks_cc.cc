// Locks of C++: one thread holds each until the other one sleeps because of it.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

static const int rounds = 10;
static std::atomic<int> asks; // the thread that is about to wait

static void until_it_sleeps()
{
    std::string line;
    char state = 'R';
    while (!asks)
        std::this_thread::yield();
    while (state != 'S') {
        std::ifstream stat("/proc/self/task/" + std::to_string(asks) + "/stat");
        std::getline(stat, line);
        state = line[line.rfind(')') + 2];
    }
    asks = 0;
}

template <class Hold, class LetGo, class Wait>
static void wait_for(const char *name, Hold hold, LetGo let_go, Wait wait)
{
    for (int i = 0; i < rounds; i++) {
        hold();
        std::thread other(wait);
        until_it_sleeps();
        let_go();
        other.join();
    }
    std::printf("expect %d %s\n", rounds, name);
}

static void ask()
{
    asks = static_cast<int>(syscall(SYS_gettid));
}

int main()
{
    std::mutex lock;
    std::timed_mutex timed;
    std::shared_mutex shared;
    std::condition_variable condition;
    const auto nothing = [] {};
    wait_for("pthread_mutex_lock", [&] { lock.lock(); }, [&] { lock.unlock(); },
             [&] { ask(); lock.lock(); lock.unlock(); });
    wait_for("pthread_mutex_clocklock", [&] { timed.lock(); }, [&] { timed.unlock(); },
             [&] { ask(); if (timed.try_lock_for(std::chrono::hours(1))) timed.unlock(); });
    wait_for("pthread_rwlock_rdlock", [&] { shared.lock(); }, [&] { shared.unlock(); },
             [&] { ask(); shared.lock_shared(); shared.unlock_shared(); });
    wait_for("pthread_cond_wait", nothing,
             [&] { { std::lock_guard<std::mutex> held(lock); } condition.notify_one(); },
             [&] { std::unique_lock<std::mutex> held(lock); ask(); condition.wait(held); });
    for (int i = 0; i < 1000; i++)
        std::lock_guard<std::mutex> free(lock);
    return 0;
}
