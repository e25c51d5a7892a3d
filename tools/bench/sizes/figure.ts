// Measured figures with their goals, and their table.

export type Unit = "s" | "GB" | "tokens/s" | "ratio";

/** A measured number. Bytes are given in gigabytes of 1e9 bytes. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: Unit;
  /** Goal of the figure; absent for figures that only explain others. */
  readonly goal?: { readonly kind: "at most" | "at least"; readonly value: number };
}

/** The figures of a model in a precision. */
export interface ModelFigures {
  readonly model: string;
  readonly quantize: string;
  readonly figures: readonly Figure[];
}

/** Returns a figure in gigabytes. */
export function bytesFigure(name: string, bytes: number, bytesMax?: number): Figure {
  const goal = bytesMax === undefined ? {} : { goal: { kind: "at most", value: bytesMax / 1e9 } as const };
  return { name, value: bytes / 1e9, unit: "GB", ...goal };
}

/** Returns a model's figures as a Markdown table. */
export function tableOf({ model, quantize, figures }: ModelFigures): string {
  return [
    `| ${model}, --quantize ${quantize} | measured | goal | measured ÷ goal | goal reached |`,
    "|---|---|---|---|---|",
    ...figures.map(rowOf),
  ].join("\n");
}

function rowOf({ name, value, unit, goal }: Figure): string {
  if (goal === undefined) return `| ${name} | ${shown(value, unit)} | – | – | – |`;
  const isReached = goal.kind === "at most" ? value <= goal.value : value >= goal.value;
  const cells = [
    name,
    shown(value, unit),
    `${goal.kind} ${shown(goal.value, unit)}`,
    (value / goal.value).toFixed(2),
    isReached ? "yes" : "no",
  ];
  return `| ${cells.join(" | ")} |`;
}

function shown(value: number, unit: Unit): string {
  const digits = unit === "ratio" || unit === "GB" ? 3 : value < 100 ? 2 : 0;
  return unit === "ratio" ? value.toFixed(digits) : `${value.toFixed(digits)} ${unit}`;
}
