// Describes the integer kernels that compute exactly on a machine: their sums are exact, and the result for a row does
// not depend on the other rows of its batch. The measurement itself is in `inference/onnx`.

/** Kernels that may be used on a machine. */
export interface IntegerKernels {
  /**
   * Storage of 8-bit weight codes: signed, or unsigned with a zero point of 128. X86 processors without VNNI need the
   * unsigned form for exact sums; both forms give bit-identical results. Null if neither form is exact, in which case
   * the server computes in float32.
   */
  readonly codes: "int8" | "uint8" | null;
  /**
   * True if multiplications with 4-bit weights are exact on the machine. If false, 4-bit weights are computed as 8-bit
   * weights.
   */
  readonly fourBits: boolean;
}

/** Speed at which one thread multiplies `rows` rows by a weight matrix that has this form. */
export interface KernelRate {
  readonly form: "float32" | "int8" | "uint8" | "int4";
  readonly rows: number;
  /** Speed in billions of multiply-adds per second. */
  readonly gigaOps: number;
}

/** Result of measuring the kernels of a machine. */
export interface KernelMeasurement extends IntegerKernels {
  /** Speeds of float32 and of every form that may be used. */
  readonly rates: readonly KernelRate[];
}

/** Kernels of a processor on which all kernels are exact, such as x86 with VNNI. */
export const everyKernel: IntegerKernels = { codes: "int8", fourBits: true };

/** Returns a line for users: in which precision this machine computes quantized models, why, and how fast. */
export function kernelsText({ codes, fourBits, rates }: KernelMeasurement): string {
  const eight = {
    int8: "8 bits",
    uint8: "8 bits (more slowly than a processor with VNNI or AMX)",
    none: "float32, because this processor cannot compute them exactly in 8 bits",
  }[codes ?? "none"];
  const four = fourBits
    ? "4 bits"
    : `${codes === null ? "float32" : "8 bits"}, because in 4 bits, answers would depend on other requests here`;
  return `computes 8-bit models in ${eight}, 4-bit models in ${four}; ${ratesText(rates)}`;
}

const precisionNames = { float32: "float32", int8: "8 bits", uint8: "8 bits", int4: "4 bits" } as const;

function ratesText(rates: readonly KernelRate[]): string {
  const forms = [...new Set(rates.map(({ form }) => form))];
  const rateOf = (form: string): string =>
    rates.flatMap((rate) => (rate.form === form ? [Number(rate.gigaOps.toPrecision(2))] : [])).join("/");
  const rowCounts = [...new Set(rates.map(({ rows }) => rows))].join("/");
  return `billion multiply-adds per second of one thread, for ${rowCounts} tokens at a time: ${forms.map((form) => `${precisionNames[form]} ${rateOf(form)}`).join(", ")}`;
}
