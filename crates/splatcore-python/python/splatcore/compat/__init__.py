"""Stand-ins for the packages that code of this field imports, on splatcore's kernels.

=================  ===========================================================================
module             stands in for
=================  ===========================================================================
``gsplat``         gsplat 1.5.3: ``rasterization`` and the functions that it is made of
``csrc``           ``gsplat.csrc`` of 1.5.3, on which gsplat's own Python runs
``inria``          ``diff_gaussian_rasterization``, in its three variants
``simple_knn``     ``simple_knn`` and ``simple_knn._C``
``fused_ssim``     ``fused_ssim``
=================  ===========================================================================

``splatcore.install`` puts them where ``import gsplat`` and the like find them. Each needs torch,
which is imported with the module.
"""
