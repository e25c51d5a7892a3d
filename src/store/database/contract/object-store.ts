// The contract that every ObjectStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectDraft, ObjectStore } from "../../../base/domain/traces/published-object.ts";
import { type MakeStorage, moment, openTwice } from "./storage-under-test.ts";

export function sampleObject(name: string, changes: Partial<ObjectDraft> = {}): ObjectDraft {
  return {
    projectId: "team/games",
    kind: "object",
    name,
    digest: `digest of ${name}`,
    value: JSON.stringify({ name, text: "\0 é" }),
    baseClass: null,
    leafClass: null,
    createdAt: moment(0),
    createdBy: "Ada",
    ...changes,
  };
}

const everything = { kind: null, names: null, baseClasses: null, leafClasses: null, latestOnly: false };
const firstHundred = { limit: 100, offset: 0 };

/** Registers the tests that an object store must pass. */
export function checkObjectStore(makeStorage: MakeStorage): void {
  test("returns an object as published, also after reopening, within its project", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const draft = sampleObject("spec", { baseClass: "AnnotationSpec", leafClass: "AnnotationSpec" });
    const published = { ...draft, version: 0, isLatest: true };
    assert.deepEqual(await first.objects.create(draft), published);
    await first.close();
    const { objects } = await open();
    const wanted = { kind: null, name: "spec", version: { digest: draft.digest } };
    assert.deepEqual(await objects.find("team/games", wanted), published);
    assert.equal(await objects.find("team/other", wanted), null);
    assert.equal(await objects.find("team/games", { ...wanted, name: "other" }), null);
    assert.equal(await objects.find("team/games", { ...wanted, kind: "op" }), null);
    assert.equal(await objects.find("team/games", { ...wanted, version: { digest: "other" } }), null);
  });

  test("numbers the contents of a name as versions, and adds none for the same content", async (t) => {
    const { objects } = await (await makeStorage(t))();
    const version = (digest: string, seconds: number) =>
      sampleObject("a", { digest, value: `"${digest}"`, createdAt: moment(seconds) });
    assert.equal((await objects.create(version("one", 1))).version, 0);
    const second = await objects.create(version("two", 2));
    assert.deepEqual([second.version, second.isLatest], [1, true]);
    const again = await objects.create(version("one", 9));
    assert.deepEqual([again.version, again.isLatest, again.createdAt], [0, false, moment(1)]);
    // An op and an object with the same name have separate versions.
    assert.equal((await objects.create({ ...version("one", 3), kind: "op" })).version, 0);
    const find = async (kind: "object" | "op" | null, name: Parameters<ObjectStore["find"]>[1]["version"]) =>
      (await objects.find("team/games", { kind, name: "a", version: name }))?.value;
    assert.equal(await find("object", "latest"), '"two"');
    assert.equal(await find("object", { version: 0 }), '"one"');
    assert.equal(await find("object", { version: 2 }), undefined);
    assert.equal(await find(null, "latest"), '"one"');
  });

  test("removes deleted versions, and never reuses their numbers", async (t) => {
    const { objects } = await (await makeStorage(t))();
    for (const digest of ["one", "two", "three"]) await objects.create(sampleObject("a", { digest }));
    await objects.create(sampleObject("b"));
    assert.equal(await objects.delete("team/games", "a", ["three", "none"]), 1);
    assert.equal(await objects.delete("team/games", "a", []), 0);
    assert.equal(await objects.delete("team/other", "a", null), 0);
    const wanted = { kind: null, name: "a", version: "latest" } as const;
    assert.equal((await objects.find("team/games", wanted))?.digest, "two");
    assert.equal((await objects.create(sampleObject("a", { digest: "four" }))).version, 3);
    assert.equal(await objects.delete("team/games", "a", null), 3);
    assert.equal(await objects.find("team/games", wanted), null);
    assert.equal((await objects.list("team/games", everything, firstHundred)).length, 1);
  });

  test("lists objects filtered and in order, limited by items and bytes", async (t) => {
    const { objects } = await (await makeStorage(t))();
    const drafts = [
      sampleObject("b", { digest: "b1", baseClass: "Model", leafClass: "Mine", createdAt: moment(1) }),
      sampleObject("a", { digest: "a1", baseClass: "Dataset", leafClass: "Dataset", createdAt: moment(3) }),
      sampleObject("b", { digest: "b2", baseClass: "Model", leafClass: "Yours", createdAt: moment(2) }),
      sampleObject("c", { digest: "c1", kind: "op", createdAt: moment(4) }),
      sampleObject("z", { digest: "z1", projectId: "team/other" }),
    ];
    for (const draft of drafts) await objects.create(draft);
    const listed = async (
      filter: Partial<Parameters<ObjectStore["list"]>[1]>,
      slice: Partial<Parameters<ObjectStore["list"]>[2]> = {},
    ) =>
      (await objects.list("team/games", { ...everything, ...filter }, { ...firstHundred, ...slice }))
        .map(({ digest }) => digest)
        .join(" ");
    assert.equal(await listed({}), "a1 b1 b2 c1");
    assert.equal(await listed({ kind: "op" }), "c1");
    assert.equal(await listed({ kind: "object", latestOnly: true }), "a1 b2");
    assert.equal(await listed({ names: ["b", "none"] }), "b1 b2");
    assert.equal(await listed({ names: [] }), "");
    assert.equal(await listed({ baseClasses: ["Model"] }), "b1 b2");
    assert.equal(await listed({ leafClasses: ["Yours", "Dataset"] }), "a1 b2");
    assert.equal(await listed({}, { limit: 2, offset: 1 }), "b1 b2");
    assert.equal(await listed({}, { bytesMax: 1, offset: 1 }), "b1");
    assert.equal(await listed({}, { offset: 9 }), "");
    assert.equal(await listed({}, { order: { by: "createdAt", isDescending: true } }), "c1 a1 b2 b1");
    assert.equal(await listed({}, { order: { by: "name", isDescending: true } }), "c1 b2 b1 a1");
  });

  test("creates one version per content when both connections publish a name", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const publish = (side: number, digest: string) =>
      sides[side].objects.create(sampleObject("a", { digest }));
    const digests = Array.from({ length: 8 }, (_, index) => `d${index % 4}`);
    const versions = await Promise.all(digests.map((digest, index) => publish(index % 2, digest)));
    assert.deepEqual(new Set(versions.map(({ version }) => version)), new Set([0, 1, 2, 3]));
    for (const [index, { version }] of versions.entries()) {
      assert.equal(version, versions[(index + 4) % 8].version);
    }
  });
}
