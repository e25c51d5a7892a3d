/**
 * Writes an ONNX model as protobuf bytes: nodes, constants, inputs, outputs and external weights.
 *
 * The writer knows the file format and dimension arithmetic, but not the operations of `lower.ts`. Equal constants and
 * sizes are written once. https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
 */
import { BinaryWriter, WireType } from "../../protobuf/wire.ts";
import { assert, present } from "../../../base/domain/assert.ts";
import { dimensionTerms, isSymbol } from "../dimension.ts";
import type { Dimension, Shape } from "../dimension.ts";
import type { DataType, NamedValue } from "../graph.ts";
import type { DataArrays } from "../tensor.ts";
import { byteLengthOf, bytesOf, type WeightSource } from "../weight-source.ts";
import { arrangedEntry } from "./external-data.ts";

/** The newest versions for which the runtime has all required kernels. */
const IR_VERSION = 10;
const OPSET_VERSION = 21;
export const CONTRIB_DOMAIN = "com.microsoft";

/** Numbers of element types in the ONNX format. */
export const dataTypeNumbers: { readonly [D in DataType]: number } = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
};

/** Attribute of an operation. Plain numbers are written as integers; other numbers need `{ float }`. */
export type OnnxAttribute =
  | number
  | { readonly float: number }
  | { readonly graph: Uint8Array }
  | readonly number[]
  | string;

export interface OnnxNodeOptions {
  readonly domain?: string;
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
  /** Names of the outputs; if absent, the operation has one output, which the writer names. */
  readonly outputs?: readonly string[];
}

/** The size of an input's axis, from which a symbol is computed when the model runs. */
interface SymbolSource {
  readonly input: string;
  readonly axis: number;
}

export class OnnxModelWriter {
  /**
   * Encoded nodes: first the model's, then those of each loop body that is being written, from the outermost to the
   * innermost.
   */
  readonly #scopes: Uint8Array[][] = [[]];
  readonly #initializers: Uint8Array[] = [];
  readonly #inputs: Uint8Array[] = [];
  readonly #outputs: Uint8Array[] = [];
  readonly #results: Uint8Array[] = [];
  readonly #memo = new Map<string, string>();
  readonly #symbols = new Map<string, SymbolSource>();
  #nameCount = 0;
  readonly #onNode: (operation: string, name: string) => void;

  /** @param onNode called with each operation and its name */
  constructor(onNode: (operation: string, name: string) => void = () => undefined) {
    this.#onNode = onNode;
  }

  input({ name, value }: NamedValue): void {
    this.#inputs.push(encodeValueInfo(name, value.dtype, value.shape));
    for (const [axis, size] of value.shape.entries()) {
      if (isSymbol(size) && !this.#symbols.has(size)) this.#symbols.set(size, { input: name, axis });
    }
  }

  output({ name, value }: NamedValue): void {
    this.#outputs.push(encodeValueInfo(name, value.dtype, value.shape));
  }

  /**
   * Declares the sizes of an operation's result by their symbols, because the runtime cannot infer them. The runtime
   * plans the reuse of memory by comparing each result with all results of unknown size. Without these declarations, a
   * program of 13,000 operations takes seven seconds to load; with them, less than one second.
   */
  result({ name, value }: NamedValue): void {
    this.#results.push(encodeValueInfo(name, value.dtype, value.shape));
  }

  /** Adds a parameter. Data in memory is embedded in the model; a file is referenced by name. */
  parameter({ name, value }: NamedValue, source: WeightSource): void {
    const writer = tensorHeader(name, value.dtype, value.shape.map(requireNumber));
    if ("data" in source) {
      writer.tag(9, WireType.LengthDelimited).bytes(bytesOf(source.data));
      this.#initializers.push(writer.finish());
      return;
    }
    const entries: readonly (readonly [string, string])[] = [
      ["location", source.file],
      ["offset", `${source.offset}`],
      ["length", `${byteLengthOf(value)}`],
      ...(source.arranged ?? []).map(arrangedEntry),
    ];
    for (const [key, text] of entries) {
      writer.tag(13, WireType.LengthDelimited).fork();
      writer.tag(1, WireType.LengthDelimited).string(key);
      writer.tag(2, WireType.LengthDelimited).string(text).join();
    }
    this.#initializers.push(writer.tag(14, WireType.Varint).int32(1).finish());
  }

  /** Returns the name of a constant tensor. */
  constant(dtype: DataType, shape: readonly number[], values: readonly number[]): string {
    return this.#once(`constant ${dtype} [${shape.join()}] ${values.map(exact).join()}`, () => {
      const name = this.#freshName();
      const writer = tensorHeader(name, dtype, shape);
      writer.tag(9, WireType.LengthDelimited).bytes(bytesOf(valueEncoders[dtype](values)));
      this.#initializers.push(writer.finish());
      return name;
    });
  }

  /** Adds an operation; returns the name of its first output. An empty name omits an input. */
  node(operation: string, inputs: readonly string[], options: OnnxNodeOptions = {}): string {
    const outputs = options.outputs ?? [this.#freshName()];
    const writer = new BinaryWriter();
    for (const input of inputs) writer.tag(1, WireType.LengthDelimited).string(input);
    for (const output of outputs) writer.tag(2, WireType.LengthDelimited).string(output);
    const name = `${operation} ${outputs.join(" ")}`;
    this.#onNode(operation, name);
    writer.tag(3, WireType.LengthDelimited).string(name);
    writer.tag(4, WireType.LengthDelimited).string(operation);
    for (const [name, attribute] of Object.entries(options.attributes ?? {})) {
      writer.tag(5, WireType.LengthDelimited).fork();
      writeAttribute(writer, name, attribute);
      writer.join();
    }
    writer.tag(7, WireType.LengthDelimited).string(options.domain ?? "");
    present(this.#scopes.at(-1), "a scope").push(writer.finish());
    return outputs[0] ?? "";
  }

  /**
   * Like {@link OnnxModelWriter.node} with one output, but equal operations share one node. The inputs must be named
   * outside loops.
   */
  shared(
    operation: string,
    inputs: readonly string[],
    attributes: OnnxNodeOptions["attributes"] = {},
  ): string {
    const key = `${operation} ${JSON.stringify([inputs, attributes])}`;
    return this.#once(key, () => this.node(operation, inputs, { attributes }));
  }

  /**
   * Adds a loop, whose body can read all names outside it.
   *
   * @param count int64 of rank 0: number of iterations
   * @param initial names and types of the initial state; the sizes may change between iterations
   * @param body adds the operations of one iteration; returns the names of the next state, followed by the names of the
   * float32 values to collect
   * @returns the names of the last state, followed by the names of the collected values of all iterations, along a new
   * first axis
   */
  loop(
    count: string,
    initial: readonly { readonly name: string; readonly dtype: DataType }[],
    body: (iteration: string, state: readonly string[]) => readonly string[],
  ): readonly string[] {
    const [iteration, goesOn] = [this.#freshName(), this.#freshName()];
    const state = initial.map(() => this.#freshName());
    const nodes: Uint8Array[] = [];
    this.#scopes.push(nodes);
    const next = body(iteration, state).map((name) => this.node("Identity", [name]));
    const stillGoesOn = this.node("Identity", [goesOn]);
    this.#scopes.pop();
    const types = next.map((_, index) => initial.at(index)?.dtype ?? "float32");
    const graph = new BinaryWriter();
    for (const node of nodes) graph.tag(1, WireType.LengthDelimited).bytes(node);
    graph.tag(2, WireType.LengthDelimited).string("body");
    const inputs = [encodeValueInfo(iteration, "int64", []), encodeValueInfo(goesOn, "bool", [])];
    inputs.push(...state.map((name, index) => encodeValueInfo(name, types[index])));
    for (const input of inputs) graph.tag(11, WireType.LengthDelimited).bytes(input);
    const outputs = [encodeValueInfo(stillGoesOn, "bool", [])];
    outputs.push(...next.map((name, index) => encodeValueInfo(name, types[index])));
    for (const output of outputs) graph.tag(12, WireType.LengthDelimited).bytes(output);
    const results = next.map(() => this.#freshName());
    const inputNames = [count, "", ...initial.map(({ name }) => name)];
    this.node("Loop", inputNames, { attributes: { body: { graph: graph.finish() } }, outputs: results });
    return results;
  }

  /** Returns the name of an int64 vector that holds one dimension. */
  dimension(dimension: Dimension): string {
    if (typeof dimension === "number") return this.constant("int64", [1], [dimension]);
    return this.#once(`dimension ${dimension}`, () => {
      const terms = dimensionTerms(dimension).map(({ coefficient, symbols }) => {
        const factors = symbols.map((symbol) => this.#symbol(symbol));
        if (coefficient !== 1 || factors.length === 0) {
          factors.push(this.constant("int64", [1], [coefficient]));
        }
        return factors.reduce((left, right) => this.node("Mul", [left, right]));
      });
      return terms.reduce((left, right) => this.node("Add", [left, right]));
    });
  }

  /** Returns the name of an int64 vector that holds a shape. */
  shape(shape: Shape): string {
    if (shape.every((size) => typeof size === "number")) {
      return this.constant("int64", [shape.length], shape);
    }
    return this.#once(`shape ${shape.join()}`, () => {
      const sizes = shape.map((size) => this.dimension(size));
      return this.node("Concat", sizes, { attributes: { axis: 0 } });
    });
  }

  /** Returns the whole model as bytes. */
  finish(): Uint8Array {
    const graph = new BinaryWriter();
    for (const node of this.#scopes[0]) graph.tag(1, WireType.LengthDelimited).bytes(node);
    graph.tag(2, WireType.LengthDelimited).string("graph");
    for (const tensor of this.#initializers) graph.tag(5, WireType.LengthDelimited).bytes(tensor);
    for (const input of this.#inputs) graph.tag(11, WireType.LengthDelimited).bytes(input);
    for (const output of this.#outputs) graph.tag(12, WireType.LengthDelimited).bytes(output);
    for (const result of this.#results) graph.tag(13, WireType.LengthDelimited).bytes(result);
    const model = new BinaryWriter().tag(1, WireType.Varint).int64(IR_VERSION);
    model.tag(2, WireType.LengthDelimited).string("hone");
    model.tag(7, WireType.LengthDelimited).bytes(graph.finish());
    for (const [domain, version] of [["", OPSET_VERSION] as const, [CONTRIB_DOMAIN, 1] as const]) {
      const opset = new BinaryWriter().tag(1, WireType.LengthDelimited).string(domain);
      opset.tag(2, WireType.Varint).int64(version);
      model.tag(8, WireType.LengthDelimited).bytes(opset.finish());
    }
    return model.finish();
  }

  #symbol(symbol: string): string {
    const source = this.#symbols.get(symbol);
    assert(source !== undefined, `no input has an axis of size ${symbol}`);
    return this.shared("Shape", [source.input], { start: source.axis, end: source.axis + 1 });
  }

  #once(key: string, make: () => string): string {
    const known = this.#memo.get(key);
    if (known !== undefined) return known;
    // Other operations share the result, so it belongs to the model, not to a loop's body.
    const scopes = this.#scopes.splice(1);
    const name = make();
    this.#scopes.push(...scopes);
    this.#memo.set(key, name);
    return name;
  }

  #freshName(): string {
    return `%${this.#nameCount++}`;
  }
}

function writeAttribute(writer: BinaryWriter, name: string, attribute: OnnxAttribute): void {
  writer.tag(1, WireType.LengthDelimited).string(name);
  const ofType = (type: number): void => void writer.tag(20, WireType.Varint).int32(type);
  if (typeof attribute === "string") {
    writer.tag(4, WireType.LengthDelimited).string(attribute);
    ofType(3);
  } else if (typeof attribute === "number") {
    assert(Number.isSafeInteger(attribute), `attribute ${name} is an integer`);
    writer.tag(3, WireType.Varint).int64(attribute);
    ofType(2);
  } else if ("float" in attribute) {
    writer.tag(2, WireType.Bit32).float(attribute.float);
    ofType(1);
  } else if ("graph" in attribute) {
    writer.tag(6, WireType.LengthDelimited).bytes(attribute.graph);
    ofType(5);
  } else {
    for (const integer of attribute) writer.tag(8, WireType.Varint).int64(integer);
    ofType(7);
  }
}

/** @param shape absent if the rank or the sizes are not declared */
function encodeValueInfo(name: string, dtype: DataType, shape?: Shape): Uint8Array {
  const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).string(name);
  writer.tag(2, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.Varint).int32(dataTypeNumbers[dtype]);
  if (shape !== undefined) writeShape(writer, shape);
  return writer.join().join().finish();
}

function writeShape(writer: BinaryWriter, shape: Shape): void {
  writer.tag(2, WireType.LengthDelimited).fork();
  for (const size of shape) {
    writer.tag(1, WireType.LengthDelimited).fork();
    if (typeof size === "number") writer.tag(1, WireType.Varint).int64(size);
    else writer.tag(2, WireType.LengthDelimited).string(size);
    writer.join();
  }
  writer.join();
}

function tensorHeader(name: string, dtype: DataType, shape: readonly number[]): BinaryWriter {
  const writer = new BinaryWriter();
  for (const size of shape) writer.tag(1, WireType.Varint).int64(size);
  writer.tag(2, WireType.Varint).int32(dataTypeNumbers[dtype]);
  return writer.tag(8, WireType.LengthDelimited).string(name);
}

const valueEncoders: { readonly [D in DataType]: (values: readonly number[]) => DataArrays[D] } = {
  float32: (values) => Float32Array.from(values),
  int64: (values) => BigInt64Array.from(values, BigInt),
  int32: (values) => Int32Array.from(values),
  int8: (values) => Int8Array.from(values),
  uint8: (values) => Uint8Array.from(values),
  bool: (values) => Uint8Array.from(values),
};

function requireNumber(size: Dimension): number {
  assert(typeof size === "number", `a parameter's shape is known, got ${size}`);
  return size;
}

function exact(value: number): string {
  return Object.is(value, -0) ? "-0" : `${value}`;
}
