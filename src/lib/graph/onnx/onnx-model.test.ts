// Tests a model's bytes against the field numbers of the ONNX format; the runtime's tests check the computation.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
import assert from "node:assert/strict";
import { test } from "node:test";
import { BinaryReader, WireType } from "../../protobuf/wire.ts";
import { GraphBuilder } from "../builder.ts";
import { lower } from "./lower.ts";
import { OnnxModelWriter } from "./onnx-model.ts";

/**
 * Returns the values of a message's fields by field number: bytes for length-delimited fields, decimal texts for
 * integer fields.
 */
function fieldsOf(message: Uint8Array): Map<number, (Uint8Array | string)[]> {
  const reader = new BinaryReader(message);
  const fields = new Map<number, (Uint8Array | string)[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const value = type === WireType.LengthDelimited ? reader.bytes() : String(reader.int64());
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

function text(field: Uint8Array | string | undefined): string {
  return field instanceof Uint8Array ? new TextDecoder().decode(field) : (field ?? "absent");
}

test("a model states its format, producer and operator versions, and its graph has a name", () => {
  const model = fieldsOf(new OnnxModelWriter().finish());
  assert.deepEqual([...model.keys()], [1, 2, 7, 8]);
  assert.equal(text(model.get(1)?.[0]), "10");
  assert.equal(text(model.get(2)?.[0]), "hone");
  const [graph] = model.get(7) ?? [];
  assert.ok(graph instanceof Uint8Array);
  assert.deepEqual(
    [...fieldsOf(graph)].map(([number, [name]]) => [number, text(name)]),
    [[2, "graph"]],
  );
  const versions = (model.get(8) ?? []).map((opset) => {
    assert.ok(opset instanceof Uint8Array);
    const fields = fieldsOf(opset);
    return [text(fields.get(1)?.[0]), text(fields.get(2)?.[0])];
  });
  assert.deepEqual(versions, [
    ["", "21"],
    ["com.microsoft", "1"],
  ]);
});

test("writes equal shared operations once, outside the loop that uses them first", () => {
  const model = new OnnxModelWriter();
  const count = model.constant("int64", [], [2]);
  const state = { name: model.constant("float32", [1], [0]), dtype: "float32" as const };
  const names: string[] = [];
  model.loop(count, [state], (_iteration, [value = ""]) => {
    names.push(model.shared("Size", [count]), model.shared("Shape", [count], { start: 0, end: 1 }));
    return [value];
  });
  names.push(model.shared("Size", [count]), model.shared("Shape", [count], { start: 0 }));
  assert.equal(names[0], names[2]);
  assert.equal(new Set(names).size, 3);
  const [graph] = fieldsOf(model.finish()).get(7) ?? [];
  assert.ok(graph instanceof Uint8Array);
  const operations = (fieldsOf(graph).get(1) ?? []).map((node) => {
    assert.ok(node instanceof Uint8Array);
    return text(fieldsOf(node).get(4)?.[0]);
  });
  assert.deepEqual(operations, ["Size", "Shape", "Loop", "Shape"]);
});

test("states the sizes of results that the runtime cannot infer, by their symbols", () => {
  const builder = new GraphBuilder();
  const x_BT = builder.input("x", "float32", ["B", "T"]);
  const flat = builder.reshape(builder.negate(x_BT), ["B*T"]);
  const model = lower(builder.build({ y: builder.exp(flat) }), () => assert.fail("there are no parameters"));
  const [graph] = fieldsOf(model).get(7) ?? [];
  assert.ok(graph instanceof Uint8Array);
  const inner = (message: Uint8Array | string | undefined, number: number): (Uint8Array | string)[] => {
    assert.ok(message instanceof Uint8Array);
    return fieldsOf(message).get(number) ?? [];
  };
  const stated = inner(graph, 13).map((value) => {
    const [type] = inner(value, 2);
    const [shape] = inner(inner(type, 1)[0], 2);
    return inner(shape, 1).map((dimension) => text(inner(dimension, 2)[0]));
  });
  assert.deepEqual(stated, [["B", "T"], ["B*T"]]);
});
