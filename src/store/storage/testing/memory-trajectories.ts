// For tests: the trajectory store in memory.
import { notFound } from "../../../base/domain/service-error.ts";
import type { TrajectoryStore } from "../../../base/domain/trajectory.ts";
import { type Exclusively, jsonBytes, linesWhile, pageOf } from "./memory-tables.ts";
import { mergeMetrics } from "./memory-models.ts";
import { addOutlines, memoryOutlines } from "./memory-outlines.ts";

export function memoryTrajectories(exclusively: Exclusively): TrajectoryStore {
  return {
    ...memoryOutlines(exclusively),
    append: ({ lines: given, outlines, scenarioIds, ...log }, measure, combine) =>
      exclusively((tables) => {
        const { modelId } = log;
        if (!tables.models.some(({ id }) => id === modelId)) throw notFound("model", modelId);
        const earlier = tables.logs.filter((one) => one.log.modelId === modelId);
        const metrics = measure({
          metrics: earlier.at(-1)?.log.metrics ?? {},
          scenarioCount: new Set([...earlier.flatMap((one) => one.scenarioIds), ...scenarioIds]).size,
        });
        const parts = earlier.filter((one) => one.log.split === log.split && one.log.step === log.step);
        const combined = combine?.(parts.findLast(({ tally }) => tally !== null)?.tally ?? null);
        const lines = [...given];
        const contentBytes = lines.reduce((bytes, line) => bytes + Buffer.byteLength(line), 0);
        const stored = { ...log, metrics, contentBytes };
        tables.logs = [...tables.logs, { log: stored, lines, scenarioIds, tally: combined?.tally ?? null }];
        const { id: sourceId, split, step, recordedAt } = log;
        addOutlines(tables, { modelId, source: "log", sourceId, split, step, recordedAt }, outlines);
        mergeMetrics(tables, modelId, log.step, { ...metrics, ...combined?.metrics });
        return metrics;
      }),
    find: (id) => exclusively(({ logs }) => logs.find(({ log }) => log.id === id)?.log ?? null),
    list: (modelId, { split, step, recordedFrom, recordedBefore }, page) =>
      exclusively((tables) => {
        const logs = tables.logs.map(({ log }) => log).filter((log) => log.modelId === modelId);
        const listed = logs.filter(
          (log) =>
            log.split === (split ?? log.split) &&
            log.step === (step ?? log.step) &&
            log.recordedAt >= (recordedFrom ?? log.recordedAt) &&
            (recordedBefore === undefined || recordedBefore === null || log.recordedAt < recordedBefore),
        );
        return pageOf(listed, page, { places: logs, bytesOf: ({ metrics }) => jsonBytes(metrics) });
      }),
    lines: async (logId, from = 0) => {
      const find = () => exclusively(({ logs }) => logs.find(({ log }) => log.id === logId) ?? null);
      const stored = await find();
      if (stored === null) return null;
      const isThere = async () => (await find()) !== null;
      return linesWhile(stored.lines.slice(from), isThere, () => notFound("log of trajectories", logId));
    },
  };
}
