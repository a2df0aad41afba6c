"""FLOPs that modules and functions of PyTorch ask for, by the shapes of weights and inputs: what MFU is made from."""


def products(torch, module, args):
    """FLOPs of a module's own matrix products and convolutions, per element of its first input; 0 where it has none."""
    given = args[0] if args else None
    if type(given) is not torch.Tensor or not given.is_floating_point() or not given.dim():
        return 0
    own, width = module._parameters, given.shape[-1]
    if isinstance(module, torch.nn.modules.conv._ConvNd):
        return convolution(module, given)
    if getattr(module, "in_features", None) == width and type(getattr(module, "out_features", None)) is int:
        return 2 * module.out_features
    weight = own.get("weight")
    if weight is not None and weight.dim() == 2 and width in weight.shape:
        return 2 * (weight.shape[0] if weight.shape[1] == width else weight.shape[1])
    stacked = [p for p in own.values() if p is not None and p.dim() == 3]  # one matrix for each expert
    chosen = args[1] if len(args) > 1 else None
    if stacked and type(chosen) is torch.Tensor and chosen.dim() == 2 and not chosen.is_floating_point():
        experts = stacked[0].shape[0]
        return 2 * chosen.shape[1] * sum(p.numel() for p in stacked) / experts / width
    return 0


def convolution(module, given):
    kernel = 1
    for size in module.kernel_size:
        kernel *= size
    if module.transposed:  # every element of the input goes to all places of the kernel
        return 2 * module.out_channels // module.groups * kernel
    size = 1
    for i, length in enumerate(given.shape[-len(module.kernel_size) :]):
        reach = module.dilation[i] * (module.kernel_size[i] - 1)
        if module.padding == "same":
            around = reach
        else:
            around = 0 if module.padding == "valid" else 2 * module.padding[i]
        size *= (length + around - reach - 1) // module.stride[i] + 1
    batch = given.numel()
    for length in given.shape[-len(module.kernel_size) - 1 :]:
        batch //= length
    done = 2 * batch * module.out_channels * size * (module.in_channels // module.groups) * kernel
    return done / given.numel()


def data_type(torch, module, given):
    """The type of products as torch names it; tf32 where fp32 is allowed to be. module is None for a function."""
    weight = module._parameters.get("weight") if module is not None else None
    if weight is not None and "float8" in str(weight.dtype):
        return str(weight.dtype)
    dtype = given.dtype
    if torch.is_autocast_enabled():
        ask = getattr(torch, "get_autocast_dtype", None)
        dtype = ask("cuda") if ask else torch.get_autocast_gpu_dtype()
    if dtype is torch.float32:
        if isinstance(module, torch.nn.modules.conv._ConvNd):
            tf32 = torch.backends.cudnn.allow_tf32
        else:
            tf32 = torch.get_float32_matmul_precision() != "highest"
        return "tf32" if tf32 else "float32"
    return str(dtype)


def counter(torch, module):
    """For a module whose FLOPs are no multiple of its input: a function that tells those of a call; else None."""
    if type(module) is torch.nn.MultiheadAttention:
        return lambda args, kwargs: multihead_attention(module, args, kwargs)
    return None


def multihead_attention(module, args, kwargs):
    """Projections of queries, keys, values and the result, and attention itself; a mask leaves out nothing."""
    query, key, value = (args[i] if len(args) > i else kwargs[n] for i, n in enumerate(("query", "key", "value")))
    tokens, width = query.numel() // query.shape[-1], module.embed_dim
    time = 1 if module.batch_first and query.dim() == 3 else 0
    pairs = tokens * key.shape[time]
    projections = tokens * width * (query.shape[-1] + width) + width * (key.numel() + value.numel())
    return 2 * (projections + 2 * pairs * width)


def attention(args, kwargs):
    """FLOPs of one call of scaled_dot_product_attention: two products for each pair of a query and a key.

    Of a causal one only the pairs at and below the diagonal count, as kernels compute them. A mask leaves out none, as
    its values are not looked at.
    """
    if len(args) > 2:
        query, key, value = args[:3]
    else:
        query, key, value = (args[i] if len(args) > i else kwargs[n] for i, n in enumerate(("query", "key", "value")))
    causal = args[5] if len(args) > 5 else kwargs.get("is_causal", False)
    width, keys = query.size(-1), key.size(-2)
    rows = query.numel() // width  # queries of all heads
    each = 2 * (width + value.size(-1))  # of a pair
    if causal:
        queries = query.size(-2)
        seen = min(queries, keys)
        pairs = seen * (seen + 1) // 2 + (queries - seen) * keys
        return each * (rows // queries) * pairs
    return each * rows * keys
