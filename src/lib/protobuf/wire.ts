// Readers and writers of the protocol buffer wire format. Other rooms use them through this file.
export { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
