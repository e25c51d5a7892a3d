// Assembles WebAssembly modules with vector instructions (SIMD) from lists of instruction bytes. Covers only what the
// modules of this room need: functions without results, numbers as parameters, and one exported memory.

/** Bytes of instructions, in lists that may be nested. */
export type Code = readonly (number | Code)[];

export type ValueType = "i32" | "f64" | "v128";

export interface WasmFunction {
  readonly parameters: readonly ValueType[];
  /** Types of the variables, which follow the parameters. */
  readonly locals: readonly ValueType[];
  readonly body: Code;
}

const typeBytes: Readonly<Record<ValueType, number>> = { i32: 0x7f, f64: 0x7c, v128: 0x7b };

/** Encodes a number of at least 0 in 7 bits per byte (LEB128). */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, unsigned(value >>> 7)];
}

export const get = (local: number): Code => [0x20, unsigned(local)];
export const set = (local: number): Code => [0x21, unsigned(local)];
/** Pushes a 32-bit constant below 2^20. In LEB128 a set bit 6 of the last byte would make it negative. */
export const constant = (value: number): Code => [
  0x41,
  (value & 0x7f) | 0x80,
  ((value >>> 7) & 0x7f) | 0x80,
  value >>> 14,
];
export const add = 0x6a;

/** A vector instruction, by its number in the specification. */
export const vector = (instruction: number): Code => [0xfd, unsigned(instruction)];
/** Loads the 16 bytes at the address on the stack plus an offset. */
export const load = (offset: number): Code => [vector(0x00), 0, unsigned(offset)];
/** Loads four 16-bit integers at the address on the stack plus an offset, with their sign, as 32-bit integers. */
export const loadShorts = (offset: number): Code => [vector(0x03), 0, unsigned(offset)];
/** Stores 16 bytes at the address on the stack plus an offset. */
export const store = (offset: number): Code => [vector(0x0b), 0, unsigned(offset)];
/** Selects 16 bytes of two vectors; indices from 16 on select from the second. */
export const shuffle = (indices: readonly number[]): Code => [vector(0x0d), indices];
/** Pushes a vector of four 32-bit words. */
export const words = (...values: readonly number[]): Code => [
  vector(0x0c),
  [...new Uint8Array(Uint32Array.from(values).buffer)],
];

/** Runs code if the number on the stack is not 0. */
export const ifTrue = (code: Code): Code => [0x04, 0x40, code, 0x0b];

/** Repeats code while one local is less than another, both unsigned; runs it at least once. */
export function repeatWhileLess(local: number, end: number, code: Code): Code {
  return [0x03, 0x40, code, get(local), get(end), 0x49, 0x0d, 0, 0x0b];
}

/** Adds a number to a local. */
export function advance(local: number, by: Code): Code {
  return [get(local), by, add, set(local)];
}

/** Assembles a module that exports the functions by name, and its memory as `memory`. */
export function assemble(functions: Readonly<Record<string, WasmFunction>>): Uint8Array<ArrayBuffer> {
  const all = Object.entries(functions);
  const types = all.map(([, { parameters }]) => [0x60, list(parameters.map((type) => typeBytes[type])), 0]);
  const indices = all.map((_, index) => unsigned(index));
  const exported = all.map(([name], index) => [named(name), 0x00, unsigned(index)]);
  const bodies = all.map(([, { locals, body }]) =>
    sized([list(locals.map((type) => [1, typeBytes[type]])), body, 0x0b]),
  );
  const memories = [[0x00, 1]];
  const sections = [
    [1, types],
    [3, indices],
    [5, memories],
    [7, [...exported, [named("memory"), 0x02, 0]]],
    [10, bodies],
  ] as const;
  const magic = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  return Uint8Array.from(bytesOf([magic, sections.map(([id, items]) => [id, sized(list(items))])]));
}

function list(items: Code): Code {
  return [unsigned(items.length), items];
}

function sized(code: Code): Code {
  const bytes = bytesOf(code);
  return [unsigned(bytes.length), bytes];
}

function named(name: string): Code {
  return sized([...Buffer.from(name)]);
}

function bytesOf(code: Code): readonly number[] {
  const bytes: number[] = [];
  append(code, bytes);
  return bytes;
}

function append(code: Code, bytes: number[]): void {
  for (const item of code) {
    if (typeof item === "number") bytes.push(item);
    else append(item, bytes);
  }
}
