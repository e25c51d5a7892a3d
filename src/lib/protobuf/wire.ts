// Readers and writers of the protocol buffer wire format. Other areas of the code use them only through this file.
export { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
