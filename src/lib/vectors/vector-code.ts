// Vector code (WebAssembly SIMD) of the loops that convert each weight of a model. Gives the same bits as plain loops.
import {
  advance,
  assemble,
  type Code,
  constant,
  get,
  ifTrue,
  load,
  loadShorts,
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
const f32 = {
  splat: vector(0x13),
  greater: vector(0x44),
  abs: vector(0xe0),
  add: vector(0xe4),
  subtract: vector(0xe5),
  multiply: vector(0xe6),
  largest: vector(0xeb),
};
const i32 = {
  equal: vector(0x37),
  shiftLeft: vector(0xab),
  add: vector(0xae),
  subtract: vector(0xb1),
  max: vector(0xb8),
  widenLow: vector(0xa9),
  widenHigh: vector(0xaa),
};
const f64 = {
  splat: vector(0x14),
  add: vector(0xf0),
  multiply: vector(0xf2),
  promoteLow: vector(0x5f),
  demote: 0xb6,
};
const [narrowShorts, narrowWords, anyTrue] = [vector(0x65), vector(0x85), vector(0x53)];
const [and, or, select] = [vector(0x4e), vector(0x50), vector(0x52)];
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

/** Loads four numbers, which are at an address plus an offset in numbers, as float32 times the inverse of `factor`. */
interface RowLoader {
  readonly four: (address: Code, offset: number) => Code;
  readonly factor: number;
  /** Bytes of 64 numbers. */
  readonly blockBytes: number;
}

const loaders = {
  float32: { four: (address, offset) => [address, load(4 * offset)], factor: 1, blockBytes: 256 },
  // Exponent and fraction move to their places in a float32. The bias of the exponent, which is smaller by 112, makes
  // the result too small by 2^112. Sums have the same bits as sums of the numbers themselves, even denormal ones.
  float16: {
    four: (address, offset) => [
      [address, loadShorts(2 * offset), constant(13), i32.shiftLeft],
      [splat32(0x8fffe000), and],
    ],
    factor: 2 ** 112,
    blockBytes: 128,
  },
  bfloat16: {
    four: (address, offset) => [address, loadShorts(2 * offset), constant(16), i32.shiftLeft],
    factor: 1,
    blockBytes: 128,
  },
} as const satisfies Readonly<Record<string, RowLoader>>;

/**
 * Multiplies blocks of 64 numbers by a Hadamard matrix divided by 8, and finds the largest magnitudes in four lanes.
 * Each step replaces numbers that are `distance` apart by their sum and difference. Parameters: address of the numbers,
 * address of the results and their end, address of the magnitudes.
 */
function rotate({ four, factor, blockBytes }: RowLoader): WasmFunction {
  const [from, at, end, to, most, spare] = range(6);
  const quad = range(4).map((index) => 6 + index);
  const [even, odd] = [shuffle(lanes(0, 2, 4, 6)), shuffle(lanes(1, 3, 5, 7))];
  const sumAndDifference = (one: number, other: number): Code => [
    [get(one), get(other), f32.subtract],
    [get(one), get(other), f32.add, set(one), set(other)],
  ];
  const unzip = (one: number, other: number): Code => [
    [get(one), get(other), even, get(one), get(other), odd, set(other), set(one)],
  ];
  /** Distances 1 and 2, within two vectors. */
  const within = (one: number, other: number): Code => [
    [unzip(one, other), sumAndDifference(one, other)],
    [unzip(one, other), sumAndDifference(one, other)],
    unzip(one, other),
  ];
  /** The shorter distance, then twice the distance. */
  const between = ([a, b, c, d]: readonly number[]): Code => [
    [sumAndDifference(a, b), sumAndDifference(c, d)],
    [sumAndDifference(a, c), sumAndDifference(b, d)],
  ];
  // More than four vectors at a time would not stay in the registers of a processor.
  const body = [
    range(4).map((part) => [
      quad.map((local, index) => [four(get(from), 16 * part + 4 * index), set(local)]),
      [within(quad[0], quad[1]), within(quad[2], quad[3]), between(quad)],
      quad.map((local, index) => [get(at), get(local), store(64 * part + 16 * index)]),
    ]),
    range(4).map((part) => [
      quad.map((local, index) => [get(at), load(64 * index + 16 * part), set(local)]),
      between(quad),
      quad.map((local, index) => [
        [get(local), get(spare), f32.multiply, set(local)],
        [get(local), splat32(0x7fffffff), and, get(most), i32.max, set(most)],
        [get(at), get(local), store(64 * index + 16 * part)],
      ]),
    ]),
    advance(from, constant(blockBytes)),
    advance(at, constant(256)),
  ];
  const [norm] = new Uint32Array(Float32Array.of(factor / 8).buffer);
  return {
    parameters: ["i32", "i32", "i32", "i32"],
    locals: range(6).map(() => "v128" as const),
    body: [
      [splat32(norm), set(spare)],
      // Without their sign, float32 numbers have the order of their bits as integers, and NaN is the largest.
      repeatWhileLess(at, end, body),
      [get(to), get(most), store(0)],
    ],
  };
}

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
 * Adding 1.5 · 2^23 to a float32 rounds it to an integer too. Quotients in float32 are wrong by at most 2^-16, so those
 * whose distance from the integer exceeds this number (0.5 - 2^-14) are rounded in float64.
 */
const nearTie = 0x3efff800;

/**
 * Rounds numbers to 8-bit codes, 16 at a time. Parameters: address of the numbers and their end, address of the codes,
 * inverse of the scale.
 */
const round: WasmFunction = (() => {
  const [at, end, to, inverse, factor, shortFactor, rest, sum] = range(8);
  const quad = range(4).map((index) => 8 + index);
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
  const exactly: Code = [get(to), eight(0), eight(32), join(range(8), range(8)), store(0)];
  const shortRounding = splat32(0x4b400000);
  const quickly = (local: number, index: number): Code => [
    [get(at), load(16 * index), get(shortFactor), f32.multiply, set(local)],
    [get(local), shortRounding, f32.add, set(sum)],
    [get(local), get(sum), shortRounding, f32.subtract, f32.subtract, f32.abs],
    index === 0 ? set(rest) : [get(rest), f32.largest, set(rest)],
    [get(sum), shortRounding, i32.subtract, set(local)],
  ];
  const body = [
    quad.map(quickly),
    [get(to), get(quad[0]), get(quad[1]), narrowWords],
    [get(quad[2]), get(quad[3]), narrowWords, narrowShorts, store(0)],
    [get(rest), splat32(nearTie), f32.greater, anyTrue, ifTrue(exactly)],
    advance(at, constant(64)),
    advance(to, constant(16)),
  ];
  return {
    parameters: ["i32", "i32", "i32", "f64"],
    locals: range(8).map(() => "v128" as const),
    body: [
      [get(inverse), f64.splat, set(factor), get(inverse), f64.demote, f32.splat, set(shortFactor)],
      repeatWhileLess(at, end, body),
    ],
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
  return assemble({
    widen,
    rotate: rotate(loaders.float32),
    rotateHalves: rotate(loaders.float16),
    rotateShorts: rotate(loaders.bfloat16),
    round,
    transpose,
  });
}
