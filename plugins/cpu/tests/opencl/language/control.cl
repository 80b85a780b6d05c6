// compiled as: CL1.2 CL2.0 CL3.0
// Control flow of every shape. Each kernel turns in[i] and its neighbours into four ints.

kernel void dense_switch(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int r = 0;
    switch (in[i] & 7) {
    case 0: r = 10; break;
    case 1: r = 11;
    case 2: r += 12; break;
    case 3: case 4: r = 34; break;
    case 6: return;
    default: r = -1;
    }
    out[4 * i] = r;
}

kernel void sparse_switch(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    switch (in[i]) {
    case -2147483647 - 1: out[4 * i] = 1; break;
    case -1: out[4 * i] = 2; break;
    case 0: out[4 * i] = 3; break;
    case 2147483647: out[4 * i] = 4; break;
    case 1000: out[4 * i] = 5; break;
    }
    long wide = (long)in[i] << 20;
    switch (wide) {
    case 7L << 20: out[4 * i + 1] = 7; break;
    case -(1L << 20): out[4 * i + 1] = 8; break;
    case 1000L << 20: out[4 * i + 1] = 9; break;
    default: out[4 * i + 1] = 10;
    }
    char narrow = (char)in[i];
    switch (narrow) {
    case -1: out[4 * i + 2] = 20; break;
    case 'a': case 7: out[4 * i + 2] = 21; break;
    case -128: out[4 * i + 2] = 22; break;
    default: out[4 * i + 2] = narrow;
    }
    switch ((ushort)in[i]) {
    case 65535: out[4 * i + 3] = 1; break;
    case 7: out[4 * i + 3] = 2; break;
    default: out[4 * i + 3] = 3;
    }
}

kernel void loops(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int n = in[i] & 31, sum = 0, count = 0;
    for (int j = 0; j < n; j++) {
        if (j % 5 == 4) continue;
        if (j > 20) break;
        for (int k = j; k >= 0; k -= 3) {
            sum += k;
            if (sum % 7 == 6) break;
        }
    }
    int x = n;
    while (x > 1) {
        x = x % 2 ? 3 * x + 1 : x / 2;
        if (++count > 60) break;
    }
    int y = 0;
    do {
        y += x;
    } while (y < n);
    out[4 * i] = sum;
    out[4 * i + 1] = count;
    out[4 * i + 2] = y;
    uint z = (uint)in[i];
    int digits = 0;
    for (; z; z /= 10u) digits++;
    out[4 * i + 3] = digits;
}

kernel void jumps(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int x = in[i] & 63, steps = 0;
again:
    steps++;
    if (x > 40) { x -= 7; goto again; }
    if (x > 20) { x -= 3; goto middle; }
    goto end;
    while (x > 0) {
        x -= 5;
middle:
        x -= 2;
        steps += 10;
    }
end:
    out[4 * i] = x;
    out[4 * i + 1] = steps;
}

kernel void two_entries(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int x = in[i] & 127, steps = 0;
    if (x & 1) goto second;
first:
    x += 3;
    steps++;
second:
    x -= 11;
    steps += 100;
    if (x > 60) goto first;
    if (x > 20) goto second;
    out[4 * i] = x;
    out[4 * i + 1] = steps;
}

bool note(int *calls, int bit, bool value) {
    *calls |= 1 << bit;
    return value;
}

kernel void short_circuits(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int a = in[i], calls = 0;
    bool r = (note(&calls, 0, a > 0) && note(&calls, 1, a > 10)) || (note(&calls, 2, a < -10) && !note(&calls, 3, a & 1));
    out[4 * i] = r;
    out[4 * i + 1] = calls;
    out[4 * i + 2] = a > 0 ? a > 100 ? 3 : a > 50 ? 2 : 1 : a == 0 ? 0 : -1;
    out[4 * i + 3] = (a++, a += 2, a);
}

int early(int a) {
    if (a < 0) return -1;
    for (int j = 0; j < 10; j++) {
        if (j * j > (a & 63)) return j;
    }
    return 99;
}

kernel void returns(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    out[4 * i] = early(in[i]);
    if (in[i] & 4) {
        out[4 * i + 1] = 5;
        return;
    }
    out[4 * i + 2] = early((int)(0u - (uint)in[i]));
}

kernel void interleaved_switch_and_loop(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int n = (in[i] & 31) + 1, sum = 0, rounds = (n + 3) / 4;
    switch (n % 4) {
    case 0: do { sum += 1;
    case 3:      sum += 10;
    case 2:      sum += 100;
    case 1:      sum += 1000;
            } while (--rounds > 0);
    }
    out[4 * i] = sum;
}

kernel void nested_exits(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int found = -1, tried = 0;
    for (int a = 0; a < 8; a++) {
        for (int b = 0; b < 8; b++) {
            for (int c = 0; c < 8; c++) {
                tried++;
                if (a * a + b * b + c == (in[i] & 127)) { found = a * 64 + b * 8 + c; goto done; }
                if (tried > 300) goto done;
                if (c > b) break;
            }
        }
    }
done:
    out[4 * i] = found;
    out[4 * i + 1] = tried;
}
