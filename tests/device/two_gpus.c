/* A stand-in for libcuda.so.1 with a T4 and an H100 that obeys CUDA_VISIBLE_DEVICES as the driver does. */
#include <stdlib.h>
#include <string.h>

static const char *names[] = {"Tesla T4", "NVIDIA H100"};
static const int majors[] = {7, 9}, minors[] = {5, 0};

static int visible(int *ordinals) {
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    int count = 0;
    if (!text) {
        ordinals[0] = 0, ordinals[1] = 1;
        return 2;
    }
    for (; *text; ++text)
        if (*text == '0' || *text == '1') ordinals[count++] = *text - '0';
    return count;
}

int cuInit(unsigned flags) {
    int ordinals[8];
    return visible(ordinals) ? 0 : 100;
}
int cuGetErrorName(int code, const char **name) {
    *name = "CUDA_ERROR_NO_DEVICE";
    return 0;
}
int cuDeviceGetCount(int *count) {
    int ordinals[8];
    *count = visible(ordinals);
    return 0;
}
int cuDeviceGet(int *device, int ordinal) {
    int ordinals[8];
    visible(ordinals);
    *device = ordinals[ordinal];
    return 0;
}
int cuDeviceGetName(char *name, int length, int device) {
    strncpy(name, names[device], length);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = (size_t)16 << 30;
    return 0;
}
int cuDeviceGetUuid(unsigned char *uuid, int device) {
    memset(uuid, device, 16);
    return 0;
}
int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? majors[device] : attribute == 76 ? minors[device] : 40;
    return 0;
}
