module megakernel-conformance.invalid/adapter

go 1.21
