// Measures which integer matrix products are exact on this processor, and how fast they are. On x86 processors without
// VNNI, products of unsigned and signed numbers are summed in 16 bits, which can overflow, so only unsigned codes are
// exact there. Some 4-bit kernels give a single row other bits than the same row in a batch.
import { systemClock } from "../../base/domain/clock.ts";
import type {
  IntegerKernels,
  KernelMeasurement,
  KernelRate,
} from "../../base/domain/kernels/integer-kernels.ts";
import { seededRandom } from "../../base/domain/random.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import type { Value } from "../../lib/graph/graph.ts";
import { float32Data, float32Tensor } from "../../lib/graph/tensor.ts";
import type { WeightSource } from "../../lib/graph/weight-source.ts";
import { saveKernels, readSavedKernels } from "./saved-kernels.ts";
import { createSession, type Session } from "./session.ts";

type Form = KernelRate["form"];

let measured: Promise<KernelMeasurement> | null = null;

/**
 * Returns the kernels that may be used on this processor. Reads them from the cache folder. If they are missing there,
 * measures them once per process, in less than a second, and saves them.
 *
 * @param cacheFolder if null, the measurement is not saved
 * @param isReadOnly if true, a missing file is measured but not written
 */
export async function integerKernels(
  cacheFolder: string | null,
  { isReadOnly = false }: { readonly isReadOnly?: boolean } = {},
): Promise<KernelMeasurement> {
  const kept = cacheFolder === null ? null : readSavedKernels(cacheFolder);
  if (kept !== null) return kept;
  measured ??= measureKernels();
  const measurement = await measured;
  if (cacheFolder !== null && !isReadOnly) saveKernels(cacheFolder, measurement);
  return measurement;
}

/** Measures this processor's kernels: which of them are exact, and the rates of all usable forms. */
export async function measureKernels(): Promise<KernelMeasurement> {
  const kernels: IntegerKernels = { codes: await exactCodes(), fourBits: await isRowSame("int4") };
  const forms: readonly Form[] = [
    "float32",
    ...(kernels.codes === null ? [] : [kernels.codes]),
    ...(kernels.fourBits ? (["int4"] as const) : []),
  ];
  return { ...kernels, rates: await measureRates(forms, cached) };
}

/**
 * Returns the type of codes whose products are exact. Tries signed codes first, because a processor with exact
 * instructions for signed codes computes them faster than unsigned codes.
 */
async function exactCodes(): Promise<IntegerKernels["codes"]> {
  for (const form of ["int8", "uint8"] as const) {
    if (await hasExactSums(form)) return form;
  }
  return null;
}

/**
 * Row counts that are compared: a single row, the block sizes of kernels, and the counts just below and above these
 * sizes.
 */
const rowCounts = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 32, 33, 64];
const mostRows = Math.max(...rowCounts);

/**
 * True if the kernel's products equal exact integer products, for extreme and for random codes, whether or not the
 * runtime has arranged the codes.
 */
export async function hasExactSums(form: "int8" | "uint8"): Promise<boolean> {
  const [K, N] = [70, 40];
  const random = seededRandom("exact sums");
  // Half of the numbers are extreme, 127 or −127.
  const number = (): number =>
    random.index(2) === 0 ? random.index(255) - 127 : random.index(2) * 254 - 127;
  const codes = Int8Array.from({ length: K * N }, number);
  // Each row begins with the greatest number, so that all its values are multiples of its rounding step.
  const rows = Array.from({ length: mostRows }, () => [127, ...Array.from({ length: K - 1 }, number)]);
  for (const prepackWeights of [true, false]) {
    const session = await productOf(form, { K, N, codes, threads: 1, prepackWeights });
    try {
      for (const count of [1, 2, 5, mostRows]) {
        const results = await run(session, Float32Array.from(rows.slice(0, count).flat()), K);
        const isExact = rows.slice(0, count).every((row, index) =>
          Array.from({ length: N }, (_, column) => {
            const sum = row.reduce((total, value, k) => total + value * codes[k * N + column], 0);
            return Math.abs(results[index * N + column] - sum) <= 0.5 + 1e-6 * Math.abs(sum);
          }).every(Boolean),
        );
        if (!isExact) return false;
      }
    } finally {
      await session.release();
    }
  }
  return true;
}

/**
 * Shapes [K, N] of weights with few and with many columns. Kernels divide work by columns and by threads, so both
 * shapes are also tested with several threads.
 */
const shapes = [
  [64, 64],
  [576, 640],
  [1536, 96],
] as const;

/** True if a row's result has the same bits in batches of all tested sizes. */
export async function isRowSame(form: Form): Promise<boolean> {
  for (const [K, N] of shapes) {
    for (const threads of [1, 2]) {
      const random = seededRandom("rows", `${K}`);
      const codes = Int8Array.from({ length: K * N }, () => random.index(255) - 127);
      const x = Float32Array.from({ length: mostRows * K }, () => random.uniform() - 0.5);
      const session = await productOf(form, { K, N, codes, threads });
      try {
        const all = await run(session, x, K);
        for (const count of rowCounts) {
          const some = await run(session, x.subarray(0, count * K), K);
          if (some.some((value, index) => value !== all[index])) return false;
        }
      } finally {
        await session.release();
      }
    }
  }
  return true;
}

const repeatCountMax = 8;

interface Measured {
  /** Shape [K, N] of the weight matrix. */
  readonly shape: readonly [number, number];
  readonly rowCounts: readonly number[];
  readonly threads: number;
  /**
   * Maximum time in milliseconds for measuring one form at one row count. On a slow machine, fewer repetitions fit into
   * it.
   */
  readonly budgetMs: number;
}

/**
 * A matrix that stays in a core's cache. The row counts are one decoded token, a batch of decoded tokens, and a prompt.
 */
const cached: Measured = { shape: [512, 1024], rowCounts: [1, 16, 128], threads: 1, budgetMs: 20 };

/**
 * Measures products with a matrix that a core's cache cannot hold, as in a model whose weights all have to be read from
 * memory for each token.
 *
 * @param threads number of threads that compute each product
 * @returns rates of all threads together, for 1, 8 and 128 rows
 */
export function measureStreamedRates(
  forms: readonly Form[],
  threads: number,
): Promise<readonly KernelRate[]> {
  return measureRates(forms, { shape: [1536, 24_576], rowCounts: [1, 8, 128], threads, budgetMs: 300 });
}

/** Measures the forms in turns, so that other load on the machine affects all of them equally. */
async function measureRates(
  forms: readonly Form[],
  { shape: [K, N], rowCounts: measuredRows, threads, budgetMs }: Measured,
): Promise<readonly KernelRate[]> {
  const random = seededRandom("rates");
  const codes = new Int8Array(K * N);
  const pattern = Int8Array.from({ length: 64 * 1024 }, () => random.index(255) - 127);
  for (let index = 0; index < codes.length; index += pattern.length) codes.set(pattern, index);
  const x = Float32Array.from({ length: Math.max(...measuredRows) * K }, () => random.uniform() - 0.5);
  const sessions: { readonly form: Form; readonly session: Session }[] = [];
  for (const form of forms) sessions.push({ form, session: await productOf(form, { K, N, codes, threads }) });
  const rates: KernelRate[] = [];
  for (const rows of measuredRows) {
    const best = new Map(forms.map((form) => [form, Infinity]));
    const start = systemClock.monotonicMs();
    for (let repeat = 0; repeat < repeatCountMax; repeat++) {
      for (const { form, session } of sessions) {
        const begin = systemClock.monotonicMs();
        await run(session, x.subarray(0, rows * K), K);
        const ms = systemClock.monotonicMs() - begin;
        best.set(form, Math.min(ms, best.get(form) ?? ms));
      }
      if (systemClock.monotonicMs() - start > budgetMs * forms.length) break;
    }
    for (const [form, ms] of best) rates.push({ form, rows, gigaOps: (2 * rows * K * N) / (ms * 1e6) });
  }
  for (const { session } of sessions) await session.release();
  return rates.toSorted((one, other) => forms.indexOf(one.form) - forms.indexOf(other.form));
}

interface ProductOptions {
  readonly K: number;
  readonly N: number;
  /** Integer codes of the weight, [K, N]. If the form packs several codes into a byte, the array is shorter. */
  readonly codes: Int8Array;
  readonly threads: number;
  readonly prepackWeights?: boolean;
}

/**
 * Adds to a graph the product of the rows `x` [B, K] and a quantized weight, which consists of integer codes. Also adds
 * the weight's data to `weights`.
 */
type Product = (
  builder: GraphBuilder,
  x: Value,
  { K, N, codes }: ProductOptions,
  weights: Map<string, WeightSource>,
) => Value;

/** Returns the codes with 128 added to each. */
function raised(codes: Int8Array): Uint8Array {
  return new Uint8Array(codes).map((code) => code ^ 128);
}

const codeProduct =
  (form: "int8" | "uint8"): Product =>
  (builder, x, { K, N, codes }, weights) => {
    weights.set("weight", { data: form === "int8" ? codes : raised(codes) });
    return builder.int8MatMul(x, builder.parameter("weight", [K, N], form), builder.full([N], 1));
  };

const products: { readonly [F in Form]: Product } = {
  float32: (builder, x, { K, N, codes }, weights) => {
    weights.set("weight", { data: new Float32Array(codes).map((code) => code / 127) });
    return builder.matMul(x, builder.parameter("weight", [N, K]), { transposeB: true });
  },
  int8: codeProduct("int8"),
  uint8: codeProduct("uint8"),
  int4: (builder, x, { K, N, codes }, weights) => {
    weights.set("weight", { data: raised(codes.subarray(0, (N * K) / 2)) });
    weights.set("scales", { data: new Float32Array((N * K) / 32).fill(0.1) });
    const blocks = builder.parameter("weight", [N, K / 32, 16], "uint8");
    return builder.int4MatMul(x, blocks, builder.parameter("scales", [N, K / 32]));
  },
};

function productOf(form: Form, options: ProductOptions): Promise<Session> {
  const { threads, prepackWeights } = options;
  const builder = new GraphBuilder();
  const weights = new Map<string, WeightSource>();
  const x = builder.input("x", "float32", ["B", options.K]);
  const y = products[form](builder, x, options, weights);
  return createSession(builder.build({ y }), { weights, threads, prepackWeights });
}

async function run(session: Session, x: Float32Array, K: number): Promise<Float32Array> {
  return float32Data((await session.run({ x: float32Tensor([x.length / K, K], x) }))["y"]);
}
