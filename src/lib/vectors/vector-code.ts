// Vector code (WebAssembly SIMD) of the loops that convert each weight of a model. Gives the same bits as plain loops.
import {
  advance,
  assemble,
  type Code,
  constant,
  get,
  load,
  repeatWhileLess,
  set,
  shuffle,
  store,
  type WasmFunction,
  vector,
  words,
} from "./assemble.ts";

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

// Instructions by their numbers in the specification of WebAssembly.
const f32 = { add: vector(0xe4), subtract: vector(0xe5), multiply: vector(0xe6) };
const i32 = {
  equal: vector(0x37),
  shiftLeft: vector(0xab),
  add: vector(0xae),
  max: vector(0xb8),
  widenLow: vector(0xa9),
  widenHigh: vector(0xaa),
};
const f64 = { splat: vector(0x14), add: vector(0xf0), multiply: vector(0xf2), promoteLow: vector(0x5f) };
const [and, or, xor, select] = [vector(0x4e), vector(0x50), vector(0x51), vector(0x52)];
const splat32 = (word: number): Code => words(word, word, word, word);
const splat64 = (value: number): Code => {
  const [low, high] = new Uint32Array(Float64Array.of(value).buffer);
  return words(low, high, low, high);
};

/** Returns the bytes of the 32-bit lanes with these indices. */
const lanes = (...indices: readonly number[]): readonly number[] =>
  indices.flatMap((lane) => range(4).map((byte) => 4 * lane + byte));

/**
 * Widens float16 to float32, 8 numbers at a time. Parameters: address of the halves and their end, address of the
 * results.
 */
const widen: WasmFunction = (() => {
  const [from, end, to, half, exponent, value] = range(6);
  const four = (widenHalf: Code, offset: number): Code => [
    [get(from), load(0), widenHalf, set(half)],
    // Moves exponent and fraction to their places in a float32.
    [get(half), splat32(0x7fff), and, constant(13), i32.shiftLeft, set(value)],
    [get(value), splat32(0x0f800000), and, set(exponent)],
    [get(to)],
    // Denormal numbers: sets their exponent to the exponent of 2^-14, then subtracts 2^-14.
    [get(value), splat32(0x38800000), i32.add, splat32(0x38800000), f32.subtract],
    // Other numbers: the bias of the exponent grows by 112, and by 224 for infinity and NaN.
    [get(value), splat32(0x38000000), i32.add],
    [get(exponent), splat32(0x0f800000), i32.equal, splat32(0x38000000), and, i32.add],
    [get(exponent), splat32(0), i32.equal, select],
    [get(half), splat32(0x8000), and, constant(16), i32.shiftLeft, or, store(offset)],
  ];
  const body = [
    four(i32.widenLow, 0),
    four(i32.widenHigh, 16),
    advance(from, constant(16)),
    advance(to, constant(32)),
  ];
  return {
    parameters: ["i32", "i32", "i32"],
    locals: ["v128", "v128", "v128"],
    body: repeatWhileLess(from, end, body),
  };
})();

/** Widens bfloat16 to float32, 8 numbers at a time. Parameters as those of `widen`. */
const widenShort: WasmFunction = (() => {
  const [from, end, to] = range(3);
  const four = (widenHalf: Code, offset: number): Code => [
    [get(to), get(from), load(0), widenHalf, constant(16), i32.shiftLeft, store(offset)],
  ];
  const body = [
    four(i32.widenLow, 0),
    four(i32.widenHigh, 16),
    advance(from, constant(16)),
    advance(to, constant(32)),
  ];
  return { parameters: ["i32", "i32", "i32"], locals: [], body: repeatWhileLess(from, end, body) };
})();

/**
 * Multiplies blocks of 64 numbers by a Hadamard matrix, in place. Each step replaces numbers that are `distance` apart
 * by their sum and difference. Parameters: address of the numbers and their end.
 */
const rotate: WasmFunction = (() => {
  const [at, end] = range(2);
  const block = range(16).map((index) => 2 + index);
  const spare = 18;
  const sign = 0x80000000;
  const inVector = (local: number, first: Code, second: Code, signs: Code): Code => [
    [get(local), get(local), first],
    [get(local), get(local), second, signs, xor],
    [f32.add, set(local)],
  ];
  const between = (one: number, other: number): Code => [
    [get(one), get(other), f32.add],
    [get(one), get(other), f32.subtract, set(other), set(one)],
  ];
  const body = [
    block.flatMap((local, index) => [
      [get(at), load(16 * index), set(local)],
      inVector(local, shuffle(lanes(0, 0, 2, 2)), shuffle(lanes(1, 1, 3, 3)), words(0, sign, 0, sign)),
      inVector(local, shuffle(lanes(0, 1, 0, 1)), shuffle(lanes(2, 3, 2, 3)), words(0, 0, sign, sign)),
    ]),
    [1, 2, 4, 8].flatMap((distance) =>
      range(16)
        .filter((index) => (index & distance) === 0)
        .flatMap((index) => between(block[index], block[index + distance])),
    ),
    [splat32(0x3e000000), set(spare)],
    block.flatMap((local, index) => [[get(at), get(local), get(spare), f32.multiply, store(16 * index)]]),
    advance(at, constant(256)),
  ];
  const locals = range(17).map(() => "v128" as const);
  return { parameters: ["i32", "i32"], locals, body: repeatWhileLess(at, end, body) };
})();

/**
 * Finds the largest magnitudes of a row, in four lanes. Parameters: address of the numbers and their end, address of
 * the result.
 */
const largest: WasmFunction = (() => {
  const [at, end, to, most] = range(4);
  // Without their sign, float32 numbers have the order of their bits as integers, and NaN is the largest.
  const magnitude = [get(at), load(0), splat32(0x7fffffff), and];
  const body = [magnitude, get(most), i32.max, set(most), advance(at, constant(16))];
  return {
    parameters: ["i32", "i32", "i32"],
    locals: ["v128"],
    body: [repeatWhileLess(at, end, body), get(to), get(most), store(0)],
  };
})();

/**
 * Adding this number to a float64 rounds it to an integer. The first byte of the result then has the last 8 bits of the
 * integer.
 */
const rounding = 1.5 * 2 ** 52;
/**
 * Makes ties round up, even if their quotient is too small by a rounding error. Other quotients (of float32 numbers, up
 * to 127) differ from the nearest tie by at least 2^-26.
 */
const tieOffset = 2 ** -30;

/**
 * Rounds numbers to 8-bit codes, 16 at a time. Parameters: address of the numbers and their end, address of the codes,
 * inverse of the scale.
 */
const round: WasmFunction = (() => {
  const [at, end, to, inverse, factor] = range(5);
  const pair = (offset: number, isHigh: boolean): Code => [
    [get(at), load(offset)],
    isHigh ? [get(at), load(offset), shuffle(lanes(2, 3, 2, 3))] : [],
    [f64.promoteLow, get(factor), f64.multiply, splat64(tieOffset), f64.add],
    [splat64(rounding), f64.add],
  ];
  /** Selects the bytes with these indices from two vectors, and joins them in one vector. */
  const join = (one: readonly number[], other: readonly number[]): Code => {
    const indices = [...one, ...other.map((index) => 16 + index)];
    return shuffle([...indices, ...range(16 - indices.length).map(() => 0)]);
  };
  const four = (offset: number): Code => [pair(offset, false), pair(offset, true), join([0, 8], [0, 8])];
  const eight = (offset: number): Code => [four(offset), four(offset + 16), join(range(4), range(4))];
  const body = [
    [get(to), eight(0), eight(32), join(range(8), range(8)), store(0)],
    advance(at, constant(64)),
    advance(to, constant(16)),
  ];
  return {
    parameters: ["i32", "i32", "i32", "f64"],
    locals: ["v128"],
    body: [get(inverse), f64.splat, set(factor), repeatWhileLess(at, end, body)],
  };
})();

/**
 * Transposes codes of 16 rows, 16 columns at a time. Parameters: address of the first row and its end, distance between
 * rows, address of the first column, distance between columns.
 */
const transpose: WasmFunction = (() => {
  const [at, end, stride, to, step, address] = range(6);
  const rows = range(16).map((index) => 6 + index);
  const others = range(16).map((index) => 22 + index);
  const low = shuffle(range(8).flatMap((index) => [index, 16 + index]));
  const high = shuffle(range(8).flatMap((index) => [8 + index, 24 + index]));
  const interleave = (from: readonly number[], into: readonly number[]): Code =>
    range(8).flatMap((index) => [
      [get(from[index]), get(from[index + 8]), low, set(into[2 * index])],
      [get(from[index]), get(from[index + 8]), high, set(into[2 * index + 1])],
    ]);
  const body = [
    [get(at), set(address)],
    rows.flatMap((row) => [get(address), load(0), set(row), advance(address, get(stride))]),
    [interleave(rows, others), interleave(others, rows)],
    [interleave(rows, others), interleave(others, rows)],
    rows.flatMap((row) => [get(to), get(row), store(0), advance(to, get(step))]),
    advance(at, constant(16)),
  ];
  const locals = ["i32" as const, ...range(32).map(() => "v128" as const)];
  return { parameters: ["i32", "i32", "i32", "i32", "i32"], locals, body: repeatWhileLess(at, end, body) };
})();

/** Returns the bytes of the WebAssembly module that exports the loops. */
export function vectorModule(): Uint8Array<ArrayBuffer> {
  return assemble({ widen, widenShort, rotate, largest, round, transpose });
}
