import assert from "node:assert/strict";
import { test } from "node:test";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import { partsWithWeights } from "./weight-parts.ts";

test("each product is a part of its own, small weights share one, and tables have none", () => {
  const builder = new GraphBuilder();
  const table = builder.parameter("table", [50, 8]);
  let x = builder.gatherRows(table, builder.input("ids", "int64", ["B"]));
  for (const layer of [0, 1]) {
    x = builder.multiply(x, builder.exp(builder.parameter(`norm ${layer}`, [8])));
    x = builder.add(x, builder.parameter(`bias ${layer}`, [8]));
    x = builder.matMul(x, builder.parameter(`w ${layer}`, [8, 8]), { transposeB: true });
  }
  const wide = builder.multiply(x, builder.parameter("large", [40_000, 1, 8]));
  const parts = partsWithWeights(builder.build({ y: wide }));
  assert.deepEqual(
    parts.map(({ parameters }) => parameters.map(({ name }) => name)),
    [["w 0"], ["w 1"], ["large"], ["norm 0", "bias 0", "norm 1", "bias 1"]],
  );
  const [, , , shared] = parts;
  // The product of a layer is the input of the next layer. The scaled value is computed within the part.
  assert.equal(shared.inputs.length, 2);
  assert.equal(shared.outputs.length, 4);
  const kinds = shared.nodes.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["exp", "multiply", "add", "exp", "multiply", "add"]);
});
