// Exports an adapter that a server trained. Downloads the server's archive, or reads the folder to which the server
// writes. Then writes the adapter's files anew, so that they are complete even if the server omits fields.
import { existsSync } from "node:fs";
import { copyFile, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { unpackInto } from "../../../lib/archives/unpack.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { adapterFiles } from "../../../inference/architectures/hashes/adapter-hash.ts";
import {
  readLoraAdapter,
  writeLoraAdapter,
  type WriteLoraOptions,
} from "../../../inference/architectures/peft-folder.ts";
import { requireFiniteAdapter } from "../trainer.ts";
import type { TinkerConnection } from "./http/connection.ts";
import { garbled, refusalOf, type Reply } from "./http/refusals.ts";
import type { RemoteModel, TinkerService } from "./remote-model.ts";

export interface ExportPlace {
  /** An empty folder, to which Hone writes the adapter. */
  readonly folder: string;
  /** Folder to which the server writes adapters; null if it sends archives. */
  readonly adapters: string | null;
}

/**
 * Maximum size in bytes of an adapter's archive and of its files. It suffices for all projections of a model with a
 * trillion parameters at a high rank.
 */
const adapterBytesMax = 2 ** 34;
const configBytesMax = 1 << 20;
const entriesMax = 64;

/**
 * Exports a model's adapter from the server to a folder, in the PEFT layout.
 *
 * @param name name of the adapter on the server until the export removes it; unique per model
 * @throws ServiceError `unsupported` if a value is not finite, or if the adapter changes parts of the model that Hone
 * does not serve; `unavailable`
 */
export async function exportAdapter(
  service: TinkerService,
  model: RemoteModel,
  name: string,
  { folder, adapters, ...options }: ExportPlace & WriteLoraOptions,
): Promise<void> {
  await model.saveAdapter(name);
  const received = await mkdtemp(`${folder}.received-`);
  try {
    if (adapters === null)
      await fetchArchive(service.connection, model.id, {
        name,
        folder: received,
        mayLeave: service.kind.redirectsElsewhere,
      });
    else await copyFiles(adapters, model.id, received);
    writeLoraAdapter(folder, readReceived(received, options), options);
  } finally {
    await rm(received, { recursive: true, force: true });
    const path = `training_runs/${model.id}/checkpoints/sampler_weights/${name}`;
    // Ignores a failure to remove the adapter, because the server's own retention removes it later.
    await service.connection.once({ method: "DELETE", path }).catch(() => undefined);
  }
}

function readReceived(folder: string, { config }: WriteLoraOptions): ReturnType<typeof readLoraAdapter> {
  let adapter: ReturnType<typeof readLoraAdapter>;
  try {
    adapter = readLoraAdapter(folder, config);
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause;
    const message = `The trainer's adapter cannot be served: ${cause.message}`;
    throw new ServiceError({ code: "unsupported", message, cause });
  }
  requireFiniteAdapter(adapter.matrices);
  return adapter;
}

interface Fetched {
  readonly name: string;
  readonly folder: string;
  readonly mayLeave: boolean;
}

async function fetchArchive(
  connection: TinkerConnection,
  modelId: string,
  { name, folder, mayLeave }: Fetched,
): Promise<void> {
  const what = "the archive of an adapter";
  const location = await locate(connection, `training_runs/${modelId}/checkpoints`, name);
  if (!connection.isOwn(location) && !mayLeave)
    throw garbled(what, `a redirect to ${new URL(location).origin}, which servers of this kind do not send`);
  const { status, body, release } = await connection.open(location);
  if (status !== 200) {
    release();
    throw garbled(what, `status ${status}`);
  }
  const files: readonly string[] = Object.values(adapterFiles);
  const limits = {
    bytesMax: adapterBytesMax,
    entriesMax,
    takes: (file: string) => files.includes(file),
    fileBytesMax: (file: string) => (file === adapterFiles.config ? configBytesMax : adapterBytesMax),
  };
  try {
    await unpackInto(folder, body, limits);
  } catch (cause) {
    throw garbled(
      what,
      `an archive that cannot be unpacked (${cause instanceof Error ? cause.message : String(cause)})`,
      cause,
    );
  }
}

/** Returns the URL of an adapter's archive. Tries two paths, because servers differ. */
async function locate(connection: TinkerConnection, checkpoints: string, name: string): Promise<string> {
  const what = "the archive of an adapter";
  let reply: Reply | null = null;
  for (const path of [name, `sampler_weights/${name}`]) {
    reply = await connection.ask(
      { method: "GET", path: `${checkpoints}/${path}/archive` },
      { isRepeatable: true },
    );
    if (reply.status !== 404) break;
  }
  if (reply === null || reply.status < 300 || reply.status >= 400)
    throw reply === null || reply.status < 300 ? garbled(what, "no redirection") : refusalOf(reply, what);
  const { location } = reply;
  if (location === null || !URL.canParse(location, connection.url)) throw garbled(what, "no location");
  return new URL(location, connection.url).href;
}

/**
 * Copies an adapter from the folder to which the server writes. That folder has one subfolder per model, or the files
 * of a single adapter.
 */
async function copyFiles(adapters: string, modelId: string, folder: string): Promise<void> {
  const places = [join(adapters, modelId, modelId), join(adapters, modelId), adapters];
  const found = places.find((place) => existsSync(join(place, adapterFiles.config)));
  if (found === undefined)
    throw new ServiceError({
      code: "unavailable",
      message: `The trainer has written no adapter to ${adapters}; check that this server sees the trainer's adapter folder there.`,
    });
  for (const file of Object.values(adapterFiles)) {
    const { size } = await stat(join(found, file)).catch(() => ({ size: 0 }));
    if (size > adapterBytesMax) throw garbled("the adapter", `${file} of ${size} bytes`);
    await copyFile(join(found, file), join(folder, file)).catch((cause: unknown) => {
      throw garbled("the adapter", `a folder that lacks ${file}`, cause);
    });
  }
}
