// Compares both encodings (JSON and protocol buffers), byte for byte, with recorded traffic. The traffic was recorded
// between the service's own client and a SkyRL server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readJson, readProtobuf, writeJson, writeProtobuf, type JsonRequest } from "../testing/stub-wire.ts";
import type { Datum } from "./encoding.ts";
import { jsonEncoding, logprobsOfJson } from "./json-encoding.ts";
import { numberField, WireMessage } from "./protobuf.ts";
import { logprobsOfProtobuf, protobufEncoding } from "./protobuf-encoding.ts";

/** Requests and results that were recorded with the Python package tinker 0.25.0. */
const recorded = {
  crossEntropy:
    "0a0e6d6f64656c5f323235386338396110011aa4010a200a1e0a1c0500000009000000210000004d000000640000006500000066000000122e0a077765696768747312230a1c0000000000000000000000000000803f0000803f0000803f0000803f180122010712500a0d7461726765745f746f6b656e73123f0a38090000000000000021000000000000004d0000000000000064000000000000006500000000000000660000000000000003000000000000001802220107220d63726f73735f656e74726f7079",
  forwardOnly:
    "0a0e6d6f64656c5f323235386338396110071aa4010a200a1e0a1c0500000009000000210000004d000000640000006500000066000000122e0a077765696768747312230a1c0000000000000000000000000000803f0000803f0000803f0000803f180122010712500a0d7461726765745f746f6b656e73123f0a38090000000000000021000000000000004d0000000000000064000000000000006500000000000000660000000000000003000000000000001802220107220d63726f73735f656e74726f70793001",
  result:
    "0a067363616c6172128a01123e0a086c6f6770726f627312320a1c0000e6c00000b3c00000d2c0000014c10000b0c00000fbc00000a6c0121000000000000000001c00000000000000180112460a10656c656d656e74776973655f6c6f737312320a1c000000800000008000000080000014410000b0400000fb400000a640121000000000000000001c0000000000000018011801",
};

const datum: Datum = {
  inputs: Int32Array.of(5, 9, 33, 77, 100, 101, 102),
  targets: Int32Array.of(9, 33, 77, 100, 101, 102, 3),
  weights: Float32Array.of(0, 0, 0, 1, 1, 1, 1),
};
const request = { modelId: "model_2258c89a", seqId: 1, loss: "cross_entropy", isForwardOnly: false } as const;

test("encodes a request like the service's own client", () => {
  const encode = (seqId: number, isForwardOnly: boolean): string => {
    const data = [protobufEncoding.datum(datum)];
    return Buffer.from(protobufEncoding.request({ ...request, seqId, isForwardOnly }, data).body).toString(
      "hex",
    );
  };
  assert.equal(encode(1, false), recorded.crossEntropy);
  assert.equal(encode(7, true), recorded.forwardOnly);
});

test("decodes a result that a server encoded", () => {
  const [logprobs] = logprobsOfProtobuf(Buffer.from(recorded.result, "hex"));
  assert.deepEqual([...logprobs], [-7.1875, -5.59375, -6.5625, -9.25, -5.5, -7.84375, -5.1875]);
});

test("carries the same content in both encodings, in requests and results", () => {
  const loss = {
    logprobs: Float32Array.of(0, -1.5, -2, 0, 0, -3, -1),
    advantages: Float32Array.of(0, 1, -2.5, 0, 0, 4, 0),
  };
  const data = [{ ...datum, loss }, datum];
  const sent = [protobufEncoding, jsonEncoding].map((encoding) =>
    encoding.request(
      { ...request, loss: "importance_sampling" },
      data.map((each) => encoding.datum(each)),
    ),
  );
  const read = [
    readProtobuf(sent[0].body),
    readJson(JSON.parse(Buffer.from(sent[1].body).toString()) as JsonRequest),
  ];
  assert.deepEqual(read[1], read[0]);
  assert.equal(read[0].seqId, 1);
  assert.deepEqual(read[0].data[0].inputs["advantages"], [0, 1, -2.5, 0, 0, 4, 0]);
  const logprobs = [Float32Array.of(-1, -2.5), Float32Array.of(), Float32Array.of(-0.125)];
  assert.deepEqual(logprobsOfProtobuf(writeProtobuf(logprobs)), logprobs);
  assert.deepEqual(logprobsOfJson(JSON.parse(JSON.stringify(writeJson(logprobs)))), logprobs);
});

test("refuses a malformed result", () => {
  const whole = Buffer.from(recorded.result, "hex");
  assert.throws(() => logprobsOfProtobuf(whole.subarray(0, whole.length - 3)), /cut off/);
  assert.throws(() => logprobsOfProtobuf(Buffer.alloc(40, 0xff)), /cut off or malformed/);
  for (const result of [null, {}, { loss_fn_outputs: [{}] }, { loss_fn_outputs: 3 }])
    assert.throws(() => logprobsOfJson(result), /has no/);
  for (const value of ["-1", true, [], {}])
    assert.throws(
      () => logprobsOfJson({ loss_fn_outputs: [{ logprobs: { data: [-1, value] } }] }),
      /is not a number/,
    );
});

test("keeps integers up to 2^53 in varint fields", () => {
  for (const value of [0, 1, 127, 128, 300, 2 ** 31, 2 ** 40 + 5])
    assert.equal(new WireMessage(numberField(1, value)).number(1), value);
});
