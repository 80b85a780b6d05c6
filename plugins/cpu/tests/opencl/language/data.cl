// compiled as: CL1.2 CL2.0 CL3.0
// Structures, unions, arrays, enumerations and pointers.

enum colour { RED = 3, GREEN, BLUE = -5, LAST };
typedef struct { char tag; int number; uchar bytes[5]; double real; } mixed;
typedef struct { mixed parts[3]; struct { short x, y; } point; } nested;
typedef struct __attribute__((packed)) { char a; int b; short c; long d; } tight;
typedef struct __attribute__((aligned(32))) { int a; } loose;
union view { int whole; float real; uchar bytes[4]; ushort halves[2]; };

constant int table[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
constant mixed constants[2] = {{'x', 5, {1, 2, 3}, 0.5}, {.number = 9, .bytes = {[4] = 77}}};
constant char text[] = "a string";

kernel void structures(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    nested n = {{{1, in[i], {9, 8, 7}, 1.5}}, {(short)in[i], 3}};
    nested m = n;
    m.parts[1] = n.parts[0];
    m.parts[1].bytes[in[i] & 3] = 100;
    m.parts[in[i + 1] & 1].number += 1000;
    m.parts[2].real = (double)in[i] / 4.0;
    out[4 * i] = m.parts[0].number + 3 * m.parts[1].number + m.parts[1].bytes[1];
    out[4 * i + 1] = (int)m.parts[2].real + m.point.x * 2 + m.point.y + (int)(m.parts[1].real * 2);
    out[4 * i + 2] = (int)sizeof(mixed) + 100 * (int)sizeof(nested) + 100000 * (int)sizeof(tight) + (int)sizeof(loose);
    mixed *p = &m.parts[in[i] & 1];
    p->tag += 5;
    out[4 * i + 3] = m.parts[0].tag + 10 * m.parts[1].tag + constants[in[i] & 1].number + constants[1].bytes[4];
}

kernel void packed_structures(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    tight t[3];
    for (int j = 0; j < 3; j++) {
        t[j].a = (char)(in[i] + j);
        t[j].b = in[i] * j;
        t[j].c = (short)in[i + 1];
        t[j].d = (long)in[i] << (8 * j);
    }
    uchar *raw = (uchar *)t;
    uint sum = 0;
    for (int j = 0; j < (int)sizeof(t); j++) sum = sum * 31 + raw[j];
    out[4 * i] = (int)sum;
    out[4 * i + 1] = t[in[i] & 1].b + (int)(t[2].d >> 8);
}

kernel void unions(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    union view v;
    v.whole = in[i];
    v.bytes[1] ^= 0x55;
    out[4 * i] = v.whole;
    out[4 * i + 1] = v.halves[in[i] & 1];
    v.real = (float)(in[i] & 0xfffff);
    out[4 * i + 2] = v.whole;
    union view copy = v;
    copy.bytes[in[i] & 3] = 1;
    out[4 * i + 3] = copy.whole ^ v.whole;
}

kernel void arrays(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int grid[4][5];
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++) grid[y][x] = in[i] * x - y;
    int (*row)[5] = &grid[in[i] & 3];
    int sum = 0;
    for (int x = 0; x < 5; x++) sum += (*row)[x] * (x + 1);
    out[4 * i] = sum;
    out[4 * i + 1] = table[in[i] & 1][in[i + 1] & 3] + table[2][3];
    int *p = &grid[1][0], *q = p + 7;
    out[4 * i + 2] = (int)(q - p) + q[-2] + *(p + 1) + (p < q) + (&grid[2][2] == q);
    short halves[8] = {1, 2, [5] = 6};
    halves[in[i] & 7]--;
    char *bytes = (char *)halves;
    out[4 * i + 3] = bytes[10] + 256 * bytes[0] + text[in[i] & 7] + (int)sizeof(text);
}

kernel void enumerations(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    enum colour c = in[i] & 1 ? GREEN : LAST;
    if (in[i] & 2) c = BLUE;
    out[4 * i] = c;
    out[4 * i + 1] = c == BLUE ? RED : c + 1;
    switch (c) {
    case RED: out[4 * i + 2] = 1; break;
    case GREEN: out[4 * i + 2] = 2; break;
    default: out[4 * i + 2] = 3;
    }
}

kernel void pointers_to_pointers(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int a = 1, b = 2, c = 3;
    int *list[3] = {&a, &b, &c};
    int **cursor = list;
    for (int j = 0; j < (in[i] & 7); j++) {
        **cursor += j;
        cursor = cursor == &list[2] ? list : cursor + 1;
    }
    struct node { int value; struct node *next; } nodes[4];
    for (int j = 0; j < 4; j++) {
        nodes[j].value = in[i] + j;
        nodes[j].next = j < 3 ? &nodes[(j + 1) & 3] : 0;
    }
    int sum = 0;
    for (struct node *n = nodes + (in[i] & 1); n; n = n->next) sum = sum * 3 + n->value;
    out[4 * i] = a * 10000 + b * 100 + c;
    out[4 * i + 1] = **cursor;
    out[4 * i + 2] = sum;
}

kernel void bytes(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    const global uchar *raw = (const global uchar *)(in + i);
    global uchar *target = (global uchar *)(out + 4 * i);
    for (int j = 0; j < 4; j++) target[j] = raw[3 - j];
    *(global short *)(target + 6) = *(const global short *)(raw + 1 + (in[i] & 1));
    long both = *(const global long *)(in + (i & ~(size_t)1));
    out[4 * i + 2] = (int)(both >> 24);
    out[4 * i + 3] = (int)((const global char *)in)[4 * i + 2];
}

kernel void volatiles(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    volatile int x = in[i];
    volatile int *p = &x;
    *p += 1;
    x = x * 2;
    out[4 * i] = x + *p;
}

// More private memory than the work-items of a vector have together: such a kernel is compiled as scalar code.
kernel void large_array(global int *out, global const int *in) {
    size_t i = get_global_id(0);
    int table[40000];
    for (int j = 0; j < 40000; j++) table[j] = (int)((uint)in[i] + j * 3u);
    for (int j = 0; j < 4; j++) out[4 * i + j] = table[(uint)in[i + j] % 40000u];
}
