// Whether products of 8-bit integers are exact here. On processors without instructions for them (VNNI, on x86) the runtime adds
// pairs in 16 bits and cuts what does not fit: such a model would answer differently from what it was checked for.
import { ServiceError } from "../domain/service-error.ts";
import { GraphBuilder } from "../graph/builder.ts";
import { float32Data, float32Tensor } from "../graph/tensor.ts";
import { createSession } from "./session.ts";

/** Enough for every width of a kernel. */
const size = 64;

/**
 * @param cure what computes in float32 instead, as a sentence
 * @throws ServiceError `unsupported` where the greatest codes do not give what they should
 */
export async function requireExactIntegerProducts(cure: string): Promise<void> {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", size]);
  const weight = builder.parameter("weight", [size, size], "int8");
  const graph = builder.build({ y: builder.int8MatMul(x, weight, builder.full([size], 1)) });
  const weights = new Map([["weight", { data: new Int8Array(size * size).fill(127) }]]);
  const session = await createSession(graph, { weights, threads: 1 });
  const outputs = await session.run({ x: float32Tensor([1, size], new Float32Array(size).fill(1)) });
  await session.release();
  requireProducts(float32Data(outputs["y"]), cure);
}

/** @throws as {@link requireExactIntegerProducts}, for products of ones with rows of 127 */
export function requireProducts(products: Float32Array, cure: string): void {
  const expected = 127 * size;
  const wrong = products.find((product) => Math.abs(product - expected) > 1e-4 * expected);
  if (wrong === undefined) return;
  throw new ServiceError({
    code: "unsupported",
    message:
      `This processor multiplies 8-bit weights inexactly (${wrong} where ${expected} is right): it lacks the instructions ` +
      `for it. ${cure}`,
  });
}
