// The quantized types of GGUF: number of weights and bytes of a block, and decoding to float32. The layouts are those
// of llama.cpp (ggml-quants); as in llama.cpp, every value is rounded to float32 once. This module reads no files.
import { half } from "../half-lookup.ts";
import { decodeMxfp4 } from "./four-bit-floats.ts";
import { decodeIQ3S, decodeIQ3XXS } from "./three-bit-tables.ts";

/** Decodes the block that starts at byte `from` into weights, starting at index `to`. */
type BlockDecoder = (bytes: Uint8Array, from: number, values: Float32Array, to: number) => void;

interface BlockType {
  /** Number of weights in a block; blocks run along a tensor's last axis. */
  readonly weights: number;
  readonly bytes: number;
  readonly decode: BlockDecoder;
}

/** Number of weights in a block of llama.cpp's K quants. */
const superBlock = 256;

/** Types by their names in llama.cpp. */
export const blockTypes = {
  Q4_0: { weights: 32, bytes: 18, decode: decodeQ4_0 },
  Q4_1: { weights: 32, bytes: 20, decode: decodeQ4_1 },
  Q5_0: { weights: 32, bytes: 22, decode: decodeQ5_0 },
  Q5_1: { weights: 32, bytes: 24, decode: decodeQ5_1 },
  Q8_0: { weights: 32, bytes: 34, decode: decodeQ8_0 },
  Q2_K: { weights: superBlock, bytes: 84, decode: decodeQ2K },
  Q3_K: { weights: superBlock, bytes: 110, decode: decodeQ3K },
  Q4_K: { weights: superBlock, bytes: 144, decode: decodeQ4K },
  Q5_K: { weights: superBlock, bytes: 176, decode: decodeQ5K },
  Q6_K: { weights: superBlock, bytes: 210, decode: decodeQ6K },
  IQ4_NL: { weights: 32, bytes: 18, decode: decodeIQ4NL },
  IQ3_XXS: { weights: superBlock, bytes: 98, decode: decodeIQ3XXS },
  IQ3_S: { weights: superBlock, bytes: 110, decode: decodeIQ3S },
  MXFP4: { weights: 32, bytes: 17, decode: decodeMxfp4 },
  IQ4_XS: { weights: superBlock, bytes: 136, decode: decodeIQ4XS },
} as const satisfies Readonly<Record<string, BlockType>>;

export type BlockTypeName = keyof typeof blockTypes;

/**
 * Decodes bytes to weights.
 *
 * @param bytes whole blocks of one type
 */
export function dequantize(type: BlockTypeName, bytes: Uint8Array): Float32Array {
  const { weights, bytes: blockBytes }: BlockType = blockTypes[type];
  const values = new Float32Array((bytes.length / blockBytes) * weights);
  decodeBlocks(type, bytes, values);
  return values;
}

/**
 * Decodes bytes to weights.
 *
 * @param bytes whole blocks of one type
 * @param values receives the weights
 */
export function decodeBlocks(type: BlockTypeName, bytes: Uint8Array, values: Float32Array): void {
  const block: BlockType = blockTypes[type];
  const count = bytes.length / block.bytes;
  for (let index = 0; index < count; index++) {
    block.decode(bytes, index * block.bytes, values, index * block.weights);
  }
}

function signed(byte: number): number {
  return (byte << 24) >> 24;
}

function decodeQ4_0(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = half(bytes, from);
  for (let index = 0; index < 16; index++) {
    const pair = bytes[from + 2 + index];
    values[to + index] = scale * ((pair & 15) - 8);
    values[to + 16 + index] = scale * ((pair >> 4) - 8);
  }
}

function decodeQ4_1(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const [scale, least] = [half(bytes, from), half(bytes, from + 2)];
  for (let index = 0; index < 16; index++) {
    const pair = bytes[from + 4 + index];
    values[to + index] = scale * (pair & 15) + least;
    values[to + 16 + index] = scale * (pair >> 4) + least;
  }
}

/** Layout: the fifth bits of all weights, one bit a weight, then the lower four bits. */
function decodeQ5_0(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = half(bytes, from);
  for (let index = 0; index < 16; index++) {
    const pair = bytes[from + 6 + index];
    values[to + index] = scale * (((pair & 15) | fifthBit(bytes, from + 2, index)) - 16);
    values[to + 16 + index] = scale * (((pair >> 4) | fifthBit(bytes, from + 2, 16 + index)) - 16);
  }
}

function decodeQ5_1(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const [scale, least] = [half(bytes, from), half(bytes, from + 2)];
  for (let index = 0; index < 16; index++) {
    const pair = bytes[from + 8 + index];
    values[to + index] = scale * ((pair & 15) | fifthBit(bytes, from + 4, index)) + least;
    values[to + 16 + index] = scale * ((pair >> 4) | fifthBit(bytes, from + 4, 16 + index)) + least;
  }
}

function fifthBit(bytes: Uint8Array, from: number, index: number): number {
  return ((bytes[from + (index >> 3)] >> (index & 7)) & 1) << 4;
}

function decodeQ8_0(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = half(bytes, from);
  for (let index = 0; index < 32; index++) values[to + index] = scale * signed(bytes[from + 2 + index]);
}

/**
 * Layout: sixteen groups of 16 weights; first a byte with the scale and the minimum of each group, then two bits a
 * weight.
 */
function decodeQ2K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const [scale, least] = [half(bytes, from + 80), half(bytes, from + 82)];
  for (let group = 0; group < 16; group++) {
    const both = bytes[from + group];
    const [groupScale, groupLeast] = [scale * (both & 15), least * (both >> 4)];
    const { offset, shift } = twoBitPlace(group);
    for (let index = 0; index < 16; index++) {
      const bits = (bytes[from + 16 + offset + index] >> shift) & 3;
      values[to + 16 * group + index] = groupScale * bits - groupLeast;
    }
  }
}

/**
 * Layout: sixteen groups of 16 weights; first the third bit of every weight (inverted), then the two low bits of every
 * weight, then a scale of six bits for each group.
 */
function decodeQ3K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = half(bytes, from + 108);
  for (let group = 0; group < 16; group++) {
    const low = group < 8 ? bytes[from + 96 + group] & 15 : bytes[from + 88 + group] >> 4;
    const high = (bytes[from + 104 + (group & 3)] >> (2 * (group >> 2))) & 3;
    const groupScale = scale * ((low | (high << 4)) - 32);
    const { offset, shift } = twoBitPlace(group);
    for (let index = 0; index < 16; index++) {
      const bits = (bytes[from + 32 + offset + index] >> shift) & 3;
      const isLess = ((bytes[from + 16 * (group & 1) + index] >> (group >> 1)) & 1) === 0;
      values[to + 16 * group + index] = groupScale * (isLess ? bits - 4 : bits);
    }
  }
}

/**
 * Returns the location of the low two bits of a group's weights: 128 weights share 32 bytes, and each 32 of them use
 * two bits of every byte.
 */
function twoBitPlace(group: number): { readonly offset: number; readonly shift: number } {
  return { offset: 32 * (group >> 3) + 16 * (group & 1), shift: 2 * ((group >> 1) & 3) };
}

/**
 * Layout: eight groups of 32 weights; first a scale and a minimum of six bits for each group, then four bits a weight.
 */
function decodeQ4K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const [scale, least] = [half(bytes, from), half(bytes, from + 2)];
  for (let group = 0; group < 8; group++) {
    const groupScale = scale * sixBitScale(bytes, from + 4, group);
    const groupLeast = least * sixBitMinimum(bytes, from + 4, group);
    const pairs = from + 16 + 32 * (group >> 1);
    const shift = 4 * (group & 1);
    for (let index = 0; index < 32; index++) {
      values[to + 32 * group + index] = groupScale * ((bytes[pairs + index] >> shift) & 15) - groupLeast;
    }
  }
}

/** Layout: like {@link decodeQ4K}, with a fifth bit of each weight between the scales and the four bits. */
function decodeQ5K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const [scale, least] = [half(bytes, from), half(bytes, from + 2)];
  for (let group = 0; group < 8; group++) {
    const groupScale = scale * sixBitScale(bytes, from + 4, group);
    const groupLeast = least * sixBitMinimum(bytes, from + 4, group);
    const pairs = from + 48 + 32 * (group >> 1);
    const shift = 4 * (group & 1);
    for (let index = 0; index < 32; index++) {
      const fifth = ((bytes[from + 16 + index] >> group) & 1) << 4;
      const bits = ((bytes[pairs + index] >> shift) & 15) | fifth;
      values[to + 32 * group + index] = groupScale * bits - groupLeast;
    }
  }
}

/** Returns the scale of one of the eight groups of a Q4_K or Q5_K block, whose scales start at `from`. */
export function sixBitScale(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return bytes[from + group] & 63;
  return (bytes[from + 4 + group] & 15) | ((bytes[from + group - 4] >> 6) << 4);
}

/** Returns a group's minimum, like {@link sixBitScale}. */
export function sixBitMinimum(bytes: Uint8Array, from: number, group: number): number {
  if (group < 4) return bytes[from + 4 + group] & 63;
  return (bytes[from + 4 + group] >> 4) | ((bytes[from + group] >> 6) << 4);
}

/**
 * Layout: sixteen groups of 16 weights; first the four low bits of every weight, then the two high bits of every
 * weight, then a signed scale for each group.
 */
function decodeQ6K(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = half(bytes, from + 208);
  for (let group = 0; group < 16; group++) {
    const groupScale = scale * signed(bytes[from + 192 + group]);
    const [part, quarter, side] = [group >> 3, (group >> 1) & 3, 16 * (group & 1)];
    const lows = from + 64 * part + 32 * (quarter & 1) + side;
    const highs = from + 128 + 32 * part + side;
    for (let index = 0; index < 16; index++) {
      const low = (bytes[lows + index] >> (4 * (quarter >> 1))) & 15;
      const high = (bytes[highs + index] >> (2 * quarter)) & 3;
      values[to + 16 * group + index] = groupScale * ((low | (high << 4)) - 32);
    }
  }
}

/** The sixteen levels of IQ4_NL and IQ4_XS, which are denser around zero. */
const levels = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113] as const;

function decodeIQ4NL(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = half(bytes, from);
  for (let index = 0; index < 16; index++) {
    const pair = bytes[from + 2 + index];
    values[to + index] = scale * levels[pair & 15];
    values[to + 16 + index] = scale * levels[pair >> 4];
  }
}

/**
 * Layout: eight groups of 32 weights with the levels of IQ4_NL; first the two high bits of every group's scale, then
 * the four low bits of every group's scale, then four bits a weight.
 */
function decodeIQ4XS(bytes: Uint8Array, from: number, values: Float32Array, to: number): void {
  const scale = half(bytes, from);
  const highs = bytes[from + 2] | (bytes[from + 3] << 8);
  for (let group = 0; group < 8; group++) {
    const low = (bytes[from + 4 + (group >> 1)] >> (4 * (group & 1))) & 15;
    const high = (highs >> (2 * group)) & 3;
    const groupScale = scale * ((low | (high << 4)) - 32);
    for (let index = 0; index < 16; index++) {
      const pair = bytes[from + 8 + 16 * group + index];
      values[to + 32 * group + index] = groupScale * levels[pair & 15];
      values[to + 32 * group + 16 + index] = groupScale * levels[pair >> 4];
    }
  }
}
