// Checks that an imported PEFT folder can be served over a base model: its options, shapes and numbers. Refuses
// unsupported options by name, because an adapter served without one of its options would behave differently from its
// configuration.
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { present } from "../../../base/domain/assert.ts";
import { requirePlainFile } from "../../../base/domain/transient-errors/plain-file.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { adapterFiles, adapterHash } from "../../architectures/hashes/adapter-hash.ts";
import { loraNames } from "../../architectures/parameters.ts";
import {
  baseWeightsOf,
  openLoraAdapter,
  readBlock,
  type StoredLoraAdapter,
} from "../../architectures/peft-folder.ts";
import { blockStarts } from "../../architectures/stacked-adapter.ts";
import { refuseUnusableNumbers, rowChunks } from "./adapter-numbers.ts";

/** An adapter that has been checked and can be served. */
export interface CheckedAdapter {
  /** Hex SHA-256 of the adapter's files. */
  readonly hash: string;
  /** Hash of the base weights that the adapter was trained on, as stated in its configuration; null if not stated. */
  readonly baseWeights: string | null;
}

export interface AdapterCheckRequest {
  readonly folder: string;
  readonly baseFolder: string;
  /** Maximum rank that an adapter may have. */
  readonly rankMax: number;
}

export const configBytesMax = 1 << 20;

/**
 * Checks an adapter folder.
 *
 * @throws ServiceError with one of these codes:
 * - `invalid` for files that are missing or cannot be read, matrices that do not fit the base, numbers that are not
 * finite or overflow float32, and a rank that is too great
 * - `unsupported` naming each option that the server does not apply
 */
export function checkAdapter({ folder, baseFolder, rankMax }: AdapterCheckRequest): CheckedAdapter {
  try {
    refuseMissing(folder);
    const config = readModelConfig(baseFolder);
    const adapter = openLoraAdapter(folder, config);
    if (adapter.rank > rankMax) {
      throw invalid(
        `The adapter's rank r is ${adapter.rank}; at most ${rankMax} is allowed. Train one with a lower rank.`,
      );
    }
    refuseMissingTargets(folder, adapter.moduleNames);
    refuseUnusableNumbers(adapter);
    refuseStrayParts(adapter, config);
    return { hash: adapterHash(folder), baseWeights: baseWeightsOf(folder) };
  } catch (error) {
    throw withoutFolder(error, folder);
  }
}

function refuseMissing(folder: string): void {
  for (const name of Object.values(adapterFiles)) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false });
    if (found === undefined)
      throw invalid(
        `${name} is missing; a PEFT folder has it and ${Object.values(adapterFiles).join(" or ")}.`,
      );
    requirePlainFile(join(folder, name), found);
  }
  const { size } = statSync(join(folder, adapterFiles.config));
  if (size > configBytesMax)
    throw invalid(`${adapterFiles.config} has ${size} bytes; at most ${configBytesMax} are read.`);
}

/**
 * Refuses an adapter that has no matrices for a module in its configuration. That module would stay untrained without
 * the sender noticing.
 */
function refuseMissingTargets(folder: string, moduleNames: readonly string[]): void {
  const config = JSON.parse(readFileSync(join(folder, adapterFiles.config), "utf8")) as {
    readonly target_modules?: unknown;
  };
  const named = config.target_modules;
  // If the targets are a pattern, there is nothing to compare. The modules with matrices are those that the pattern
  // matched.
  if (!Array.isArray(named)) return;
  const names = new Set(named.map((module) => String(module).split(".").at(-1) ?? ""));
  const without = [...names].filter((name) => !moduleNames.includes(name));
  if (without.length > 0)
    throw invalid(
      `target_modules names ${without.join(", ")}, for which the file has no matrices; save the adapter again.`,
    );
}

/**
 * Refuses an adapter that was stacked from unfused projections if its B matrices have nonzero values outside the blocks
 * of these projections.
 */
function refuseStrayParts({ stored, modules, unfused }: StoredLoraAdapter, config: ModelConfig): void {
  if (unfused === null) return;
  const starts = blockStarts(config, unfused);
  for (const path of modules.keys()) {
    const isTarget = unfused.targets.some((name) => path.endsWith(`.${name}`));
    const start = present(starts.get(path), path);
    const b = present(stored.get(loraNames(path).b), path);
    for (const rows of rowChunks(b)) readBlock(rows, { start, rank: isTarget ? unfused.rank : 0 });
  }
}

/**
 * Removes the path of the server's folder from messages, because the path means nothing to the sender of the adapter.
 */
function withoutFolder(error: unknown, folder: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  const shown = (text: string): string => text.replaceAll(`${folder}/`, "").replaceAll(folder, "the archive");
  const { code, faults, message, cause } = error;
  return new ServiceError({
    code,
    message: shown(message),
    faults: faults.map((fault) => ({ ...fault, message: shown(fault.message) })),
    cause,
  });
}
