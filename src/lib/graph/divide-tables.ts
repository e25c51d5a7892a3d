// Divides the tables of a graph into ranges of rows, each a parameter of its own, so that the parts of a cut graph read
// only some rows at a time. Tables are large weights whose rows are looked up or give logits, such as embeddings.
import { present } from "../../base/domain/assert.ts";
import { GraphBuilder } from "./builder.ts";
import { dimensionAt } from "./shape-rules.ts";
import type { Graph, NamedValue, Node, OpKind, Value } from "./graph.ts";
import { byteLengthOf } from "./weight-source.ts";

/** Some rows of a parameter. */
export interface TableRows {
  readonly name: string;
  readonly from: number;
  readonly count: number;
}

export interface DividedTables {
  /** Graph with the same inputs and outputs. */
  readonly graph: Graph;
  /** The rows for which each new parameter stands, by the parameter's name. */
  readonly rows: ReadonlyMap<string, TableRows>;
}

interface Range extends TableRows {
  readonly value: Value;
}

/** Operations whose second or first operand may be a table, by its place among the operands. */
const placeOfTable: ReadonlyMap<OpKind, number> = new Map([
  ["gatherRows", 0],
  ["linearLogprob", 1],
]);

/**
 * Divides the tables of a graph without gradients of tables.
 *
 * @param bytesMax maximum size in bytes of an undivided table and of a range, unless a single row is larger
 */
export function divideTables(graph: Graph, bytesMax: number): DividedTables {
  const tables = graph.parameters.filter((parameter) => isTable(graph, parameter, bytesMax));
  if (tables.length === 0) return { graph, rows: new Map() };
  const builder = new GraphBuilder();
  const copies = new Map<number, Value>();
  const valueOf = ({ id }: Value): Value => present(copies.get(id), "a copied value");
  for (const { name, value } of graph.inputs)
    copies.set(value.id, builder.input(name, value.dtype, value.shape));
  const ranges = new Map(
    tables.map((table) => [table.value.id, declareRanges(builder, table, bytesMax)] as const),
  );
  for (const node of graph.nodes) {
    if (node.kind === "input" || node.outputs.some(({ id }) => ranges.has(id))) continue;
    const results = resultsOf(builder, node, ranges, valueOf);
    for (const [index, { id }] of node.outputs.entries()) copies.set(id, results[index]);
  }
  const outputs = graph.outputs.map(({ name, value }) => [name, valueOf(value)] as const);
  return {
    graph: builder.build(Object.fromEntries(outputs)),
    rows: new Map([...ranges.values()].flat().map((range) => [rangeName(range), range])),
  };
}

function isTable({ nodes }: Graph, { value }: NamedValue, bytesMax: number): boolean {
  const { dtype, shape } = value;
  if (dtype !== "float32" || shape.length !== 2 || byteLengthOf(value) <= bytesMax) return false;
  return nodes.every(({ kind, inputs }) =>
    inputs.every(({ id }, place) => id !== value.id || placeOfTable.get(kind) === place),
  );
}

function rangeName({ name, from, count }: TableRows): string {
  return `${name} rows ${from} to ${from + count}`;
}

function declareRanges(
  builder: GraphBuilder,
  { name, value }: NamedValue,
  bytesMax: number,
): readonly Range[] {
  const [rowCount, width] = value.shape.map(Number);
  const most = Math.max(1, Math.floor(bytesMax / (byteLengthOf(value) / rowCount)));
  return Array.from({ length: Math.ceil(rowCount / most) }, (_, index) => {
    const rows = { name, from: index * most, count: Math.min(most, rowCount - index * most) };
    return { ...rows, value: builder.parameter(rangeName(rows), [rows.count, width]) };
  });
}

/** Returns the results of an operation in the new graph. Results that nothing reads may be missing. */
function resultsOf(
  builder: GraphBuilder,
  node: Node,
  ranges: ReadonlyMap<number, readonly Range[]>,
  valueOf: (value: Value) => Value,
): readonly Value[] {
  const place = placeOfTable.get(node.kind);
  const table = place === undefined ? undefined : ranges.get(node.inputs[place].id);
  if (table === undefined) return builder.copy(node, node.inputs.map(valueOf)).outputs;
  if (node.kind === "gatherRows") return [gatherFrom(builder, table, valueOf(node.inputs[1]))];
  return logprobsFrom(builder, table, { x: valueOf(node.inputs[0]), ids: valueOf(node.inputs[2]) });
}

function gatherFrom(builder: GraphBuilder, table: readonly Range[], ids: Value): Value {
  return table
    .map((range) => {
      const { places, isInside } = placesIn(builder, range, ids);
      return { rows: builder.gatherRows(range.value, places), isInside };
    })
    .reduce((before, { rows, isInside }) => ({
      rows: builder.where(isInside, rows, before.rows),
      isInside,
    })).rows;
}

/** Returns the places of ids in a range of rows, and whether each is in the range: [..., 1]. Other ids get any place. */
function placesIn(
  builder: GraphBuilder,
  { from, count }: TableRows,
  ids: Value,
): { readonly places: Value; readonly isInside: Value } {
  const places = builder.subtract(ids, from);
  const clamped = builder.minimum(builder.maximum(places, 0), count - 1);
  return {
    places: clamped,
    isInside: builder.reshape(builder.equal(places, clamped), [...ids.shape, 1]),
  };
}

/** Logits of some tokens for the rows of x: what `linearLogprob` needs to know of them. */
interface PartialLogits {
  /** Logarithm of the sum of the exponentials, [N, 1]. */
  readonly total: Value;
  /** Mean of the rows of the weight, weighted by the probabilities, [N, D]. */
  readonly mean: Value;
  /** Logit of the id, [N, 1], and the weight's row of the id, [N, D]; any if the id is not among the tokens. */
  readonly logit: Value;
  readonly row: Value;
}

/** Computes the results of `linearLogprob` with the rows of a table. */
function logprobsFrom(
  builder: GraphBuilder,
  table: readonly Range[],
  { x, ids }: { readonly x: Value; readonly ids: Value },
): readonly Value[] {
  const count = dimensionAt(ids.shape, 0);
  const flat = (value: Value): Value => builder.reshape(value, [count]);
  const overRow = (a: Value, b: Value): Value => builder.reduceSum(builder.multiply(a, b), [-1], true);
  const { total, mean, logit, row } = table
    .map((range) => logitsOf(builder, range, { x, ids }))
    .reduce((before, { isInside, ...own }) => {
      const largest = builder.maximum(before.total, own.total);
      const weightOf = (part: Value): Value => builder.exp(builder.subtract(part, largest));
      const sum = builder.add(weightOf(before.total), weightOf(own.total));
      const shareOf = ({ mean: part, total: ofPart }: PartialLogits): Value =>
        builder.multiply(part, builder.divide(weightOf(ofPart), sum));
      return {
        isInside,
        total: builder.add(largest, builder.log(sum)),
        mean: builder.add(shareOf(before), shareOf(own)),
        logit: builder.where(isInside, own.logit, before.logit),
        row: builder.where(isInside, own.row, before.row),
      };
    });
  return [
    flat(builder.subtract(logit, total)),
    flat(builder.subtract(total, overRow(mean, x))),
    builder.subtract(row, mean),
  ];
}

function logitsOf(
  builder: GraphBuilder,
  range: Range,
  { x, ids }: { readonly x: Value; readonly ids: Value },
): PartialLogits & { readonly isInside: Value } {
  const { places, isInside } = placesIn(builder, range, ids);
  const logits = builder.matMul(x, range.value, { transposeB: true });
  const largest = builder.reduceMax(logits, [-1], true);
  const exponentials = builder.exp(builder.subtract(logits, largest));
  const sum = builder.reduceSum(exponentials, [-1], true);
  return {
    isInside,
    total: builder.add(largest, builder.log(sum)),
    mean: builder.divide(builder.matMul(exponentials, range.value), sum),
    logit: builder.gatherLast(logits, builder.reshape(places, [...ids.shape, 1])),
    row: builder.gatherRows(range.value, places),
  };
}
