// The trainer that the configuration names, and the key that it asks for.
import { readFileSync, statSync } from "node:fs";
import { requirePlainFile } from "../../base/domain/obstacles/plain-file.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { serverKinds } from "../../train/training/tinker/server-kinds.ts";
import { readTrainerAddress, type TrainerElsewhere } from "../../train/training/tinker/trainer-address.ts";

export interface TrainerSettings {
  readonly trainer: string | null;
  readonly trainerKey: string | null;
  readonly trainerKeyFile: string | null;
}

/** What servers without keys get, which take any and refuse none. */
const anyKey = "tml-hone";

/**
 * Null where this machine trains itself.
 *
 * @throws ServiceError `invalid` for an address that is none, a key that is missing, or a file that cannot be read
 */
export function trainerElsewhere({
  trainer,
  trainerKey,
  trainerKeyFile,
}: TrainerSettings): TrainerElsewhere | null {
  if (trainer === null || trainer === "") return null;
  const address = readTrainerAddress(trainer);
  const apiKey = trainerKey ?? (trainerKeyFile === null ? null : keyIn(trainerKeyFile));
  if (apiKey === null && serverKinds[address.kind].needsKey)
    throw new ServiceError({
      code: "invalid",
      message: `Servers of the kind ${address.kind} ask for a key: set HONE_TRAINER_KEY, or HONE_TRAINER_KEY_FILE to a file with it.`,
    });
  return { address, apiKey: apiKey ?? anyKey };
}

function keyIn(file: string): string {
  try {
    requirePlainFile(file, statSync(file));
    const key = readFileSync(file, "utf8").trim();
    if (key !== "") return key;
  } catch (cause) {
    throw unreadable(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
  throw unreadable(file, "it is empty");
}

function unreadable(file: string, reason: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `HONE_TRAINER_KEY_FILE is ${file}, and has no key that can be read (${reason}).`,
    cause,
  });
}
