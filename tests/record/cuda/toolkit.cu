// A program that nvcc has compiled: it uses the first device, where there is one.
#include <cstdio>

__global__ void scale(float *x, float by)
{
    x[threadIdx.x] *= by;
}

int main()
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        std::printf("no device: %s\n", cudaGetErrorName(error));
        return 5;
    }
    float *x = nullptr;
    cudaMalloc(&x, 128 * sizeof *x);
    scale<<<1, 128>>>(x, 2);
    std::printf("synchronize: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
