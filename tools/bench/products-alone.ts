// Computes only the matrix products of a step, with all weights. This is the time that a step would take if everything
// else cost nothing.
import { projectionNames } from "../../src/base/domain/model.ts";
import { GraphBuilder } from "../../src/lib/graph/builder.ts";
import type { Graph, Value } from "../../src/lib/graph/graph.ts";
import { float32Tensor } from "../../src/lib/graph/tensor.ts";
import { declareWeights } from "../../src/inference/architectures/decoder.ts";
import { storedLinear } from "../../src/inference/architectures/linear.ts";
import { loraProjections, outputProjection } from "../../src/inference/architectures/parameters.ts";
import { createSession } from "../../src/inference/onnx/session.ts";
import type { Subject } from "./subjects.ts";

export interface ProductsAlone {
  /** Computes the products once for this many rows. */
  readonly run: (rows: number) => Promise<void>;
  readonly release: () => Promise<void>;
}

/** Builds the products with the weights in the layout that a runner uses. */
export async function productsAlone(
  { config, weights, forms }: Pick<Subject, "config" | "weights" | "forms">,
  threads: number,
): Promise<ProductsAlone> {
  const graph = graphOf({ config, ...(forms && { forms }) });
  const session = await createSession(graph, { weights, threads, plansMemory: false, keepsMemory: false });
  return {
    run: async (rows) => {
      const feeds = graph.inputs.map(({ name, value: { shape } }) => {
        const width = Number(shape[2]);
        return [name, float32Tensor([rows, 1, width], new Float32Array(rows * width).fill(0.1))] as const;
      });
      await session.run(Object.fromEntries(feeds));
    },
    release: () => session.release(),
  };
}

function graphOf({ config, forms }: Pick<Subject, "config" | "forms">): Graph {
  const builder = new GraphBuilder();
  const linear = storedLinear(
    builder,
    declareWeights(builder, config, "parameters", forms && { forms }),
    null,
  );
  const operands = new Map<number, Value>();
  const operand = (width: number): Value => {
    const known = operands.get(width) ?? builder.input(`x${width}`, "float32", ["B", 1, width]);
    operands.set(width, known);
    return known;
  };
  const projections = [...loraProjections(config, projectionNames), outputProjection(config)];
  // The result contains one number of each product. Thus the runtime cannot skip a product, and little is copied.
  const results = projections.map((each) => builder.slice(linear(each, operand(each.inputSize)), 2, 0, 1));
  return builder.build({ result: builder.concat(results, 2) });
}
