// Tests starting and stopping the file service. Operations on files are tested through their HTTP routes.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { dataFolderAt } from "../../store/artifacts/testing/data-folder.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { checkService } from "../../base/domain/testing/check-service.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { createFileService, type FileDependencies, type FileService } from "./file-service.ts";
import { fileSettings } from "./settings.ts";

async function serviceOn(
  t: TestContext,
  changes: Partial<FileDependencies> = {},
): Promise<{ readonly service: FileService; readonly dataFolder: string }> {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-files-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const { files: store, uploads } = await storesInMemory();
  const service = createFileService({
    store,
    uploads,
    clock: new FakeClock(),
    artifacts: dataFolderAt(dataFolder).artifacts,
    settings: fileSettings.with(),
    onFault: (error) => assert.fail(String(error)),
    ...changes,
  });
  return { service, dataFolder };
}

checkService({
  name: "uploaded files",
  make: async (t) => {
    let sleeperCount = 0;
    const fake = new FakeClock();
    const clock: Clock = {
      now: () => fake.now(),
      monotonicMs: () => fake.monotonicMs(),
      sleep: async (durationMs, options) => {
        sleeperCount += 1;
        await fake.sleep(durationMs, options).finally(() => (sleeperCount -= 1));
      },
    };
    let lastCount = 0;
    const upCount = async (): Promise<number> => {
      // Waits until the service sleeps. It sleeps after it has swept the folder, and reading the folder may take a
      // while.
      for (let turn = 0; turn < 50; turn++) {
        await sleep(10);
        if (sleeperCount !== lastCount) break;
      }
      lastCount = sleeperCount;
      return lastCount;
    };
    return { service: (await serviceOn(t, { clock })).service, upCount };
  },
  failing: null,
});

async function* pieces(...texts: readonly (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    yield Buffer.from(text);
  }
}

test("leaves nothing of an interrupted upload, and keeps an upload in progress during a sweep", async (t) => {
  const { service, dataFolder } = await serviceOn(t);
  const onDisk = (): readonly string[] => readdirSync(join(dataFolder, "files"));
  await assert.rejects(service.receive(pieces("a", new Error("gone"))), /gone/);
  assert.deepEqual(readdirSync(join(dataFolder, "work/server")), []);
  const received = await service.receive(pieces("a", "b"));
  await service.sweep();
  assert.deepEqual([onDisk(), received.byteCount], [[received.id], 2]);
  const file = await service.keep(received, { entity: "team", name: "n", purpose: "fine-tune" });
  // Discarding has no effect, because the upload is already a file.
  await service.discard(received);
  assert.deepEqual(Buffer.from(await service.use(file)).toString(), "ab");
  await service.delete(file);
  await assert.rejects(
    service.use(file),
    (error) => error instanceof ServiceError && error.code === "not_found",
  );
});

test("refuses to keep a file that a server whose clock is ahead has swept", async (t) => {
  const { files: store } = await storesInMemory();
  const { service, dataFolder } = await serviceOn(t, { store });
  async function* content(): AsyncGenerator<Uint8Array, void> {
    yield new Uint8Array([1, 2]);
  }
  const received = await service.receive(content());
  rmSync(join(dataFolder, "files", received.id));
  const about = { entity: "team", name: "f", purpose: "fine-tune" };
  await assert.rejects(service.keep(received, about), { code: "unavailable", message: /clocks agree/ });
  assert.equal(await store.find(received.id), null);
});
