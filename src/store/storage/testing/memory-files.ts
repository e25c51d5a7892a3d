// For tests: the file store in memory.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { entityFullMessage, type FileStore } from "../../../base/domain/uploads/uploaded-file.ts";
import { type Exclusively, pageOf } from "./memory-tables.ts";

export function memoryFiles(exclusively: Exclusively): FileStore {
  return {
    create: (file, entityBytesMax) =>
      exclusively((tables) => {
        const used = tables.files
          .filter(({ entity }) => entity === file.entity)
          .reduce((sum, { byteCount }) => sum + byteCount, 0);
        if (used + file.byteCount > entityBytesMax) {
          const message = entityFullMessage(used, file.byteCount, entityBytesMax);
          throw new ServiceError({ code: "too_large", message });
        }
        tables.files = [...tables.files, file];
      }),
    find: (id) => exclusively(({ files }) => files.find((file) => file.id === id) ?? null),
    list: ({ entity, purpose, unusedSince }, page) =>
      exclusively(({ files }) => {
        const places = files.filter((file) => file.entity === (entity ?? file.entity));
        const listed = places.filter(
          (file) =>
            file.purpose === (purpose ?? file.purpose) && (unusedSince === null || file.usedAt < unusedSince),
        );
        return pageOf(listed, page, { places });
      }),
    delete: (id) =>
      exclusively((tables) => {
        const kept = tables.files.filter((file) => file.id !== id);
        const isFound = kept.length < tables.files.length;
        tables.files = kept;
        return isFound;
      }),
    use: (id, at) =>
      exclusively((tables) => {
        tables.files = tables.files.map((file) => (file.id === id ? { ...file, usedAt: at } : file));
      }),
  };
}
