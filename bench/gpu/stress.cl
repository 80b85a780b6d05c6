// What `./dev gpu --stress` launches: the host knows what each of them does to memory, whatever the launch's shape.

uint mixed(uint x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

size_t group() {
  return (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
}

size_t item() { return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0); }

size_t items() { return get_local_size(0) * get_local_size(1) * get_local_size(2); }

kernel void stress_hash(global uint *out, uint a, uint b, uint count) {
  uint i = group() * items() + item();
  if (i < count)
    out[i] = mixed(i * a + b);
}

kernel void stress_mix(global uint *out, global const uint *in, uint a, uint count) {
  uint i = group() * items() + item();
  if (i < count)
    out[i] = mixed(out[i] ^ in[(i + a) % count]);
}

kernel void stress_count(global uint *out, uint value, uint count) {
  uint i = group() * items() + item();
  atomic_add(&out[i % count], value);
}

// Every group turns its words round.
kernel void stress_turn(global uint *out, local uint *tile) {
  uint first = group() * items(), own = item();
  tile[own] = out[first + own];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[first + own] = tile[items() - 1 - own] + own;
}
