"""Models as files: linnet's own, which hold data only, and ONNX."""
